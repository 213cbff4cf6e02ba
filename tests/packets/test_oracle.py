"""What the oracle says on the way, and what it makes of the manners of a dialect."""

import pytest
from msgspec.structs import replace

from kubeproxy.api.decode import decode
from kubeproxy.model.identity import Family
from kubeproxy.packets.oracle import tell
from kubeproxy.packets.packet import Outcome, Packet, Step
from kubeproxy.routes.manners import CLASSIC, Manners
from kubeproxy.routes.nodeview import NodePortAddresses
from kubeproxy.routes.route import Because, Verdict
from tests.stories.fixture import BY_NAME, arrives, documents, endpoint, external_ip, node, packet, tracker
from tests.stories.world import decided, tracked, world

IPV4 = Family.IPV4

#: a dialect that differs wherever it may
STRICT = replace(
    CLASSIC,
    loopback_node_ports=False,
    guards_loopback=False,
    refuses_own_flows_to_foreign_addresses=True,
    refuses_node_port_everywhere=False,
    external_ip_before_source_ranges=False,
    refuses_before_source_ranges=False,
    unknown_port=Verdict.REJECT,
    unallocated=Verdict.DROP,
)
#: a dialect without short cut, which never drops for want of a local endpoint
LENIENT = replace(CLASSIC, shortcut=False, local_falls_back=True)

MANNERS = [
    (STRICT, "this node's loopback", "web node port at loopback", "untouched", ""),
    (STRICT, "this node's loopback", "void node port at loopback", "untouched", ""),
    (STRICT, "a client", "loopback:22", "untouched", ""),
    (STRICT, "this node", "void VIP", "refused", ""),
    (STRICT, "this node", "void external IP", "refused", ""),
    (STRICT, "a client", "void node port", "refused", ""),
    (STRICT, "a client", "dark VIP", "refused", ""),
    (STRICT, "another client", "dark VIP", "dropped", ""),
    (STRICT, "a pod", "web cluster IP:81", "refused", ""),
    (STRICT, "a pod", "web cluster IP/UDP", "refused", ""),
    (STRICT, "this node", "web cluster IP:0/ICMP", "refused", ""),
    (STRICT, "a pod", "unallocated:80", "dropped", ""),
    (STRICT, "a pod", "web VIP:81", "untouched", ""),
    (STRICT, "a pod", "the internet:443", "untouched", ""),
    (LENIENT, "a pod", "edge VIP", "l", "the client"),
    (LENIENT, "this node", "edge VIP", "l", "this node"),
    (LENIENT, "a client", "away VIP", "r", "the client"),
    (LENIENT, "a pod", "away cluster IP", "r", "the client"),
    (LENIENT, "a client", "void VIP", "refused", ""),
]


@pytest.mark.parametrize(("manners", "who", "dials", "where", "seen"), MANNERS)
def test_manners_decide_where_dialects_differ(manners: Manners, who, dials, where, seen):
    seen_from = world(tracker(), node(IPV4))
    story = tell(packet(who, dials, IPV4), seen_from.addresses, seen_from.node, manners, ["10.96.0.0/12"])
    assert arrives(story, IPV4) == (where, seen), story


def test_a_node_port_that_is_not_selected_is_left_alone():
    one = node(IPV4, node_ports=NodePortAddresses(match_all=False, networks=("192.0.2.10/32",)))
    seen = world(tracker(), one)
    for dials, strict, classic in (
        ("web node port at node's second address", "untouched", "untouched"),
        ("void node port at node's second address", "untouched", "refused"),
    ):
        for manners, where in ((STRICT, strict), (CLASSIC, classic)):
            story = tell(packet("a client", dials, IPV4), seen.addresses, one, manners)
            assert arrives(story, IPV4)[0] == where, story


def test_networks_select_among_the_addresses_of_the_interfaces():
    """All of 127.0.0.0/8 is local, but only 127.0.0.1 is on an interface."""
    loopback = NodePortAddresses(match_all=False, networks=("127.0.0.0/8",))
    seen = world(tracker(), node(IPV4, node_ports=loopback))
    assert seen.node.serves_node_port_on("127.0.0.1")
    assert not seen.node.serves_node_port_on("127.0.0.2")
    assert not seen.node.serves_node_port_on("192.0.2.10")


BOUND_HERE = [
    ("a client", CLASSIC, Outcome.UNTOUCHED),
    ("this node", CLASSIC, Outcome.REJECTED),
    ("a client", replace(CLASSIC, refuses_cluster_ip_delivered_here=True), Outcome.REJECTED),
]


@pytest.mark.parametrize(("who", "manners", "end"), BOUND_HERE)
def test_a_cluster_ip_that_the_node_itself_has(who, manners, end):
    """As a DNS cache on the node has it: what others send there is delivered, not forwarded."""
    here = node(IPV4, addresses=(*node(IPV4).addresses, "10.96.3.5"))
    seen = world(tracker(), here)
    assert tell(packet(who, "void cluster IP", IPV4), seen.addresses, here, manners).outcome is end


STORIES = [
    (
        packet("pod l", "web cluster IP", IPV4),
        """
  dials the cluster IP of Service demo/web  [spec.clusterIPs]
  the client counts as a pod  [pods are known by source address 10.128.0.0/9]
  one of 2 endpoints  [spec.internalTrafficPolicy: Cluster]
  10.128.7.20 sees this node's address, because the endpoint is the client itself
""",
    ),
    (
        packet("a pod", "edge VIP", IPV4),
        """
  dials the load balancer IP of Service demo/edge  [status.loadBalancer.ingress]
  the client counts as a pod  [pods are known by source address 10.128.0.0/9]
  may use every endpoint, because a client inside the cluster need not go out and come back in  [spec.externalTrafficPolicy: Local]
  one of 2 endpoints  [spec.externalTrafficPolicy: Local]
""",
    ),
    (
        packet("a client", "last node port", IPV4),
        """
  dials the node port of Service demo/last  [spec.ports[].nodePort]
  the client is neither a pod nor this node  [pods are known by source address 10.128.0.0/9]
  the only endpoint, because no ready endpoint is left, so those still draining are used  [spec.externalTrafficPolicy: Local]
""",
    ),
    (
        packet("another client", "gate VIP", IPV4),
        """
  dials the load balancer IP of Service demo/gate  [status.loadBalancer.ingress]
  the client is neither a pod nor this node  [pods are known by source address 10.128.0.0/9]
  drop, because the source is outside loadBalancerSourceRanges  [spec.loadBalancerSourceRanges]
""",
    ),
    (
        packet("this node", "void VIP", IPV4),
        """
  dials the load balancer IP of Service demo/void  [status.loadBalancer.ingress]
  the client is this node itself
  goes on as if no Service were there, because this way past the node is not watched for refusals in this mode
""",
    ),
    (
        packet("a pod", "away cluster IP", IPV4),
        """
  dials the cluster IP of Service demo/away  [spec.clusterIPs]
  the client counts as a pod  [pods are known by source address 10.128.0.0/9]
  drop, because the policy is Local and this node has no usable endpoint  [spec.internalTrafficPolicy: Local]
""",
    ),
    (
        packet("a pod", "web cluster IP:0/ICMP", IPV4),
        """
  the address is of Service demo/web, which answers on 80/TCP, because no Service has this address and port
""",
    ),
    (
        packet("a client", "edge health check port", IPV4),
        """
  dials the health check port of Service demo/edge, which the proxy itself answers  [spec.healthCheckNodePort]
""",
    ),
    (
        packet("a pod", "the internet:443", IPV4),
        """
  meets no Service, because no Service has this address and port
""",
    ),
    (
        packet("a client", "keen VIP", IPV4, remembers="r"),
        """
  dials the load balancer IP of Service demo/keen  [status.loadBalancer.ingress]
  the client is neither a pod nor this node  [pods are known by source address 10.128.0.0/9]
  goes where it went before, because the Service keeps a client with its endpoint  [spec.sessionAffinity: ClientIP]
  the pod sees this node's address, because externalTrafficPolicy is Cluster, so the endpoint may be on another node
""",
    ),
]


@pytest.mark.parametrize(("sent", "said"), STORIES)
def test_every_step_says_why_and_which_field_decided(sent: Packet, said: str):
    seen = world(tracker(), node(IPV4))
    assert str(seen.told(sent)).splitlines()[1:-1] == said.strip("\n").splitlines()


def test_a_service_is_named():
    seen = world(tracker(), node(IPV4))
    assert str(seen.told(packet("a pod", "web VIP", IPV4)).service) == "demo/web"
    assert seen.told(packet("a pod", "the internet:443", IPV4)).service is None


def test_a_mapping_of_routes_will_do():
    """For one question nobody has to build the index."""
    here = node(IPV4)
    story = tell(packet("a pod", "near cluster IP", IPV4), decided(tracker(), here), here, CLASSIC)
    assert [choice.endpoint for choice in story.choices] == [endpoint("l", IPV4)]


def test_two_services_want_one_address_and_the_story_says_who_lost():
    made = [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": "shop", "creationTimestamp": created},
            "spec": {"clusterIP": ip, "clusterIPs": [ip], "ipFamilies": ["IPv4"], "externalIPs": ["198.51.100.1"], "ports": [{"port": 80}]},
        }
        for name, ip, created in (("late", "10.96.3.1", "2024-02-02T00:00:00Z"), ("early", "10.96.3.2", "2023-02-02T00:00:00Z"))
    ]  # fmt: skip
    seen = world(tracked(map(decode, made)), node(IPV4))
    story = seen.told(Packet("203.0.113.7", "198.51.100.1", 80))
    assert str(story.service) == "shop/early"
    assert Step("shop/late wants it too and does not get it", Because.CLAIMED_BY_OLDER) in story.steps


def test_an_endpoint_that_is_itself_a_refused_address_is_said_to_be():
    """The kernel translates first and filters then: void's external IP is web's second endpoint here."""
    sliced = documents(("web", "void"))
    sliced[2]["endpoints"].append({"addresses": [external_ip(BY_NAME["void"], IPV4)], "nodeName": "far"})
    sliced[2]["ports"] = [{"name": "", "port": 80, "protocol": "TCP"}]
    seen = world(tracked(map(decode, sliced)), node(IPV4))
    story = seen.told(packet("a pod", "web cluster IP", IPV4))
    assert [(c.endpoint, round(c.share, 3)) for c in story.choices] == [
        ("10.128.7.20:80", 0.333),
        ("10.128.9.20:80", 0.333),
    ]
    said = "198.51.100.105:80 is itself an address of Service demo/void, which refuses"
    assert Step(said, Because.NO_ENDPOINTS, "spec.externalTrafficPolicy: Cluster") in story.steps
    assert seen.disagreement(story.packet) == ""


def test_an_address_of_this_node_may_be_two_things_at_once():
    """A load balancer on the node's own address, on a port that is its node port as well.

    Whom its source ranges keep out comes in by the node port: so it is in the kernel, and so it is told.
    """
    made = documents(("gate",))
    made[0]["spec"]["ports"][0]["port"] = made[0]["spec"]["ports"][0]["nodePort"]
    made[0]["status"]["loadBalancer"]["ingress"] = [{"ip": "192.0.2.10"}]
    seen = world(tracked(map(decode, made)), node(IPV4))
    story = seen.told(packet("another client", "gate node port", IPV4))
    assert [step.what for step in story.steps][:2] == [
        "dials the load balancer IP of Service demo/gate, which does not let it in",
        "dials the node port of Service demo/gate",
    ]
    assert arrives(story, IPV4) == ("l", "this node")
    assert seen.disagreement(story.packet) == ""
