"""What else is worth knowing: other claimants, who was assumed to ask, other settings, what to do next."""

import pytest

from tests.cli.asking import ON_NODE_A, only

NODE_A = ("--hostname-override=node-a", "--proxy-mode=iptables")

REMARKS = [
    ("192.168.7.10:31999", "on port 30443/TCP it is an address of Service edge/over"),
    (
        "198.51.100.35:80",
        "Service edge/second wants this address and port too, and does not get it: edge/first had it first",
    ),
    ("192.168.7.10:30443", "dials the external IP of Service edge/over, which has nobody for it"),
    (
        "--from pod 198.51.100.32:80",
        "a client outside would be dropped here: this node has no usable endpoint",
    ),
    (
        "198.51.100.31:80",
        "load balancers ask port 31931 (spec.healthCheckNodePort) whether this node has ready endpoints",
    ),
    (
        "--from 10.244.2.5 10.96.0.20:80",
        "its own node decides first: ask there, or with --hostname-override node-b",
    ),
    (
        "192.168.7.11:30080",
        "Service shop/web:http has node port 30080: answered there, by the proxy of that node; ask with --hostname-override node-b",
    ),
    (
        "--from pod 1.1.1.1:443",
        "whether a pod's address is replaced on its way out (masqueraded) is up to the network plug-in or an ip-masq-agent, not to kube-proxy",
    ),
    ("10.96.0.20", "that a ping fails says nothing about whether the Service works"),
    ("10.244.1.5:8080", "it is an endpoint of Service shop/web:http"),
    (
        "10.96.0.10:53",
        "the packet goes on as if no Service were there; nobody has a cluster IP, so it is lost: the client waits until its time is up",
    ),
]


@pytest.mark.parametrize(("question", "remark"), REMARKS)
def test_what_may_surprise_is_remarked(capsys, question, remark):
    assert remark in only(capsys, question)["remarks"]


@pytest.mark.parametrize(
    ("question", "field", "because"),
    [
        (
            "10.96.0.24:80",
            "spec.sessionAffinity: ClientIP",
            "a client that comes again within 3 hours gets the same endpoint",
        ),
        (
            "--from 10.1.2.3 198.51.100.30:443",
            "spec.loadBalancerSourceRanges: 203.0.113.0/25, 10.1.0.0/16",
            "10.1.2.3 is in 10.1.0.0/16, so it may pass",
        ),
        (
            "10.96.0.40:80",
            "EndpointSlice endpoints[].hints.forZones",
            "not followed: some ready endpoint has no zone hints",
        ),
        ("10.96.0.41:80", "spec.internalTrafficPolicy: Cluster", "which lets hints narrow the choice"),
    ],
)
def test_a_second_field_that_counts_is_named_too(capsys, question, field, because):
    assert {"field": field, "because": because} in only(capsys, question)["decided"][1:]


WHO = [
    ("10.96.0.20:80", "10.244.1.254", "a pod on this node", True),
    ("198.51.100.31:80", "203.0.113.77", "a client outside the cluster", True),
    ("192.168.7.10:30080", "203.0.113.77", "a client outside the cluster", True),
    ("127.0.0.1:30080", "127.0.0.1", "a program on this node, by loopback", True),
    ("--from pod 10.96.0.20:80", "10.244.1.254", "a pod on this node", False),
    ("--from outside 10.96.0.20:80", "203.0.113.77", "a client outside the cluster", False),
    ("--from node 10.96.0.20:80", "192.168.7.10", "this node itself", False),
    ("--from node 127.0.0.1:30080", "127.0.0.1", "this node itself", False),
    ("--from localhost 10.96.0.20:80", "127.0.0.1", "a program on this node, by loopback", False),
    ("--from 192.168.7.10 10.96.0.20:80", "192.168.7.10", "this node itself", False),
    ("--from 192.168.7.11 10.96.0.20:80", "192.168.7.11", "the node node-b", False),
    ("--from 10.244.1.99 10.96.0.20:80", "10.244.1.99", "a pod on this node", False),
    (
        "--from 10.244.1.5 10.96.0.20:80",
        "10.244.1.5",
        "a pod on this node, an endpoint of shop/web:http",
        False,
    ),
    ("--from 10.244.2.5 10.96.0.20:80", "10.244.2.5", "a pod on node-b, an endpoint of shop/web:http", False),
    ("--from 10.244.99.5 10.96.0.20:80", "10.244.99.5", "a pod", False),
    ("--from 8.8.8.8 10.96.0.20:80", "8.8.8.8", "a client outside the cluster", False),
    ("--from outside [fd00:10:96::10]:53/udp", "2001:db8:ffff::77", "a client outside the cluster", False),
]


@pytest.mark.parametrize(("question", "address", "who", "assumed"), WHO)
def test_the_sender_is_known_by_its_address_or_made_up_from_a_word(capsys, question, address, who, assumed):
    assert only(capsys, question)["from"] == {"address": address, "who": who, "assumed": assumed}


SETTINGS = [
    (
        "10.96.0.20:80",
        ["--cluster-cidr=10.244.0.0/16", "--masquerade-all"],
        "arrives: Service shop/web:http gives it to one of 2 endpoints",
        {"address": "node", "because": "masqueradeAll is set"},
    ),
    (
        "--from outside 10.96.0.20:80",
        [],
        "arrives: Service shop/web:http gives it to one of 2 endpoints",
        {"address": "203.0.113.77", "because": "its address is not changed"},
    ),
    (
        "10.96.0.20:80",
        ["--detect-local-mode=InterfaceNamePrefix", "--pod-interface-name-prefix=cali"],
        "arrives: Service shop/web:http gives it to one of 2 endpoints",
        {"address": "10.244.1.254", "because": "its address is not changed"},
    ),
    (
        "--from 10.244.2.5 10.96.0.20:80",
        ["--detect-local-mode=NodeCIDR"],
        "arrives: Service shop/web:http gives it to one of 2 endpoints",
        {
            "address": "node",
            "because": "the client is not a local pod, so replies must return through this node",
        },
    ),
    (
        "192.168.7.10:30080",
        ["--nodeport-addresses=10.0.0.0/8"],
        "not touched: the node port of Service shop/web:http does not answer on 192.168.7.10",
        None,
    ),
    (
        "localhost:30080",
        ["--iptables-localhost-nodeports=false"],
        "not touched: the node port of Service shop/web:http does not answer on 127.0.0.1",
        None,
    ),
    (
        "198.51.100.21:80",
        ["--feature-gates=AllowServiceExternalIPs=false"],
        "not touched: 198.51.100.21 is an external IP of Service shop/cart, and external IPs are switched off",
        None,
    ),
]


@pytest.mark.parametrize(("question", "flags", "verdict", "sees"), SETTINGS)
def test_every_flag_that_shapes_rules_counts(capsys, question, flags, verdict, sees):
    found = only(capsys, question, *NODE_A, *flags)
    assert (found["summary"], found["podSees"]) == (verdict, sees)


def test_a_pod_that_is_not_taken_for_one_is_remarked(capsys):
    remark = "this node does not take it for a pod: nothing says which IPv4 addresses are pods'; set clusterCIDR, or detectLocalMode"
    assert only(capsys, "10.96.0.20:80", *NODE_A)["remarks"] == [remark]
    elsewhere = "pods are known by source address 10.9.0.0/16, and 10.244.1.254 is not that"
    remarks = only(capsys, "10.96.0.20:80", *NODE_A, "--cluster-cidr=10.9.0.0/16")["remarks"]
    assert remarks == [f"this node does not take it for a pod: {elsewhere}"]


def test_a_node_that_nobody_knows_is_remarked(capsys):
    remark = "there is no Node node-x, so its addresses and its zone are not known; Nodes: node-a, node-b; name one with --hostname-override"
    flags = ("--hostname-override=node-x", *ON_NODE_A[1:])
    assert only(capsys, "10.96.0.20:80", *flags)["remarks"] == [remark]


NEXT = [
    (
        "10.96.0.21:80",
        "find out why no pod is ready",
        "kubectl -n shop get endpointslices -l kubernetes.io/service-name=cart",
    ),
    (
        "10.96.0.22:80",
        "see which EndpointSlices it has",
        "kubectl -n shop get endpointslices -l kubernetes.io/service-name=empty",
    ),
    ("198.51.100.32:80", "dial a node that has an endpoint (1 elsewhere), or make the policy Cluster", ""),
    ("10.96.0.33:80", "have an endpoint on this node too (1 elsewhere), or make the policy Cluster", ""),
    (
        "--from 8.8.8.8 198.51.100.30:443",
        "to let it in, add its network to spec.loadBalancerSourceRanges",
        "",
    ),
    ("10.96.0.10:53", "ask about a port that it has", "kube-proxy explain 10.96.0.10:53/udp"),
    ("10.96.0.20", "to test it, connect to a port of it", "curl -v telnet://10.96.0.20:80"),
    ("[fd00:10:96::10]", "to test it, connect to a port of it", "curl -v telnet://[fd00:10:96::10]:9153"),
]


@pytest.mark.parametrize(("question", "what", "command"), NEXT)
def test_a_packet_that_arrives_nowhere_has_a_next_step(capsys, question, what, command):
    assert only(capsys, question)["next"] == [{"what": what, "command": command}]
