"""What operators ask, and what they are told: the verdict, the field that decided, who was left out, whom the pod sees."""

import time

import pytest

from tests.cli.asking import ask, only

CLUSTER = "any usable endpoint in the cluster may be chosen"
HERE = "only endpoints on this node may be chosen"
OTHER_NODE = "on another node, and the policy is Local"
HAIRPIN = "the endpoint is the client itself, and its replies must come back through this node"
WEB_LEFT_OUT = {
    "10.244.1.6:8080": "not ready",
    "10.244.2.6:8080": "terminating, and ready endpoints exist",
    "10.244.2.7:8080": "terminating and no longer serving",
}
#: question, first line, field that decided, what it leads to, endpoints, left out, whom the pod sees
QUESTIONS = [
    (
        "10.96.0.20:80",
        "arrives: Service shop/web:http gives it to one of 2 endpoints",
        ("spec.internalTrafficPolicy: Cluster", CLUSTER),
        ["10.244.1.5:8080", "10.244.2.5:8080"],
        WEB_LEFT_OUT,
        ("10.244.1.254", "its address is not changed"),
    ),
    (
        "--from outside 192.168.7.10:30080",
        "arrives: Service shop/web:http gives it to one of 2 endpoints",
        ("spec.externalTrafficPolicy: Cluster", CLUSTER),
        ["10.244.1.5:8080", "10.244.2.5:8080"],
        WEB_LEFT_OUT,
        ("node", "externalTrafficPolicy is Cluster, so the endpoint may be on another node"),
    ),
    (
        "--from node 10.96.0.20:80",
        "arrives: Service shop/web:http gives it to one of 2 endpoints",
        ("spec.internalTrafficPolicy: Cluster", CLUSTER),
        ["10.244.1.5:8080", "10.244.2.5:8080"],
        WEB_LEFT_OUT,
        ("node", "the client is not a local pod, so replies must return through this node"),
    ),
    (
        "localhost:30080",
        "arrives: Service shop/web:http gives it to one of 2 endpoints",
        ("spec.externalTrafficPolicy: Cluster", CLUSTER),
        ["10.244.1.5:8080", "10.244.2.5:8080"],
        WEB_LEFT_OUT,
        ("node", "externalTrafficPolicy is Cluster, so the endpoint may be on another node"),
    ),
    (
        "--from 10.244.1.5 10.96.0.20:80",
        "arrives: Service shop/web:http gives it to one of 2 endpoints",
        ("spec.internalTrafficPolicy: Cluster", CLUSTER),
        ["10.244.1.5:8080", "10.244.2.5:8080"],
        WEB_LEFT_OUT,
        (
            "10.244.1.5",
            f"10.244.1.5 itself would see this node's address: {HAIRPIN}",
        ),
    ),
    (
        "--from 10.244.1.11 10.96.0.25:80",
        "arrives: Service shop/alone gives it to 10.244.1.11:8080, the only endpoint it may choose",
        ("spec.internalTrafficPolicy: Cluster", CLUSTER),
        ["10.244.1.11:8080"],
        {},
        ("node", HAIRPIN),
    ),
    (
        "10.96.0.21:80",
        "refused at once: Service shop/cart has no usable endpoint anywhere",
        ("EndpointSlice endpoints[].conditions", "its only endpoint is not ready"),
        [],
        {"10.244.1.7:8080": "not ready"},
        None,
    ),
    (
        "--from node 198.51.100.21:80",
        "not touched: Service shop/cart has no usable endpoint, but on this way nobody refuses the packet",
        ("EndpointSlice endpoints[].conditions", "its only endpoint is not ready"),
        [],
        {"10.244.1.7:8080": "not ready"},
        None,
    ),
    (
        "10.96.0.22:80",
        "refused at once: Service shop/empty has no usable endpoint anywhere",
        ("EndpointSlices of shop/empty", "it has none with an endpoint"),
        [],
        {},
        None,
    ),
    (
        "10.96.0.26:80",
        "refused at once: Service shop/slip:http has no usable endpoint anywhere",
        ("EndpointSlice ports[].name", "the slices have 'web' (TCP), and the Service asks for 'http' (TCP)"),
        [],
        {},
        None,
    ),
    (
        "10.96.0.38:80",
        "refused at once: 10.96.0.22:80 is itself an address of Service shop/empty, which refuses",
        (
            "spec.internalTrafficPolicy: Cluster",
            "10.96.0.22:80 is itself an address of Service shop/empty, which refuses: no usable endpoint anywhere",
        ),
        [],
        {},
        None,
    ),
    (
        "10.96.0.23:80",
        "arrives: Service shop/last gives it to 10.244.1.8:8080, the only endpoint it may choose",
        (
            "EndpointSlice endpoints[].conditions: serving and terminating",
            "no ready endpoint is left, so those still draining are used",
        ),
        ["10.244.1.8:8080"],
        {"10.244.1.9:8080": "terminating and no longer serving"},
        ("10.244.1.254", "its address is not changed"),
    ),
    (
        "10.96.0.24:80",
        "arrives: Service shop/keen gives it to one of 2 endpoints",
        ("spec.internalTrafficPolicy: Cluster", CLUSTER),
        ["10.244.1.10:8080", "10.244.2.10:8080"],
        {},
        ("10.244.1.254", "its address is not changed"),
    ),
    (
        "--from 203.0.113.199 198.51.100.30:443",
        "dropped: 203.0.113.199 is outside the source ranges of Service edge/gate:https",
        (
            "spec.loadBalancerSourceRanges: 203.0.113.0/25, 10.1.0.0/16",
            "203.0.113.199 is in none of them, and everybody else is dropped",
        ),
        [],
        {},
        None,
    ),
    (
        "--from 10.1.2.3 198.51.100.30:443",
        "arrives: Service edge/gate:https gives it to 10.244.1.30:8443, the only endpoint it may choose",
        ("spec.externalTrafficPolicy: Cluster", CLUSTER),
        ["10.244.1.30:8443"],
        {},
        ("node", "externalTrafficPolicy is Cluster, so the endpoint may be on another node"),
    ),
    (
        "198.51.100.31:80",
        "arrives: Service edge/near gives it to 10.244.1.31:8080, the only endpoint it may choose",
        ("spec.externalTrafficPolicy: Local", f"{HERE}, and a client outside keeps its address"),
        ["10.244.1.31:8080"],
        {"10.244.2.31:8080": OTHER_NODE},
        ("203.0.113.77", "its address is not changed"),
    ),
    (
        "198.51.100.32:80",
        "dropped: Service edge/far has no usable endpoint on this node, and its policy is Local",
        (
            "spec.externalTrafficPolicy: Local",
            "only endpoints on this node may answer, and none here can be used",
        ),
        [],
        {"10.244.2.32:8080": OTHER_NODE},
        None,
    ),
    (
        "--from pod 198.51.100.32:80",
        "arrives: Service edge/far gives it to 10.244.2.32:8080, the only endpoint it may choose",
        (
            "spec.externalTrafficPolicy: Local",
            "but the client is inside the cluster, so any usable endpoint may be chosen",
        ),
        ["10.244.2.32:8080"],
        {},
        ("10.244.1.254", "its address is not changed"),
    ),
    (
        "--from node 192.168.7.10:30031",
        "arrives: Service edge/near gives it to one of 2 endpoints",
        (
            "spec.externalTrafficPolicy: Local",
            "but the client is inside the cluster, so any usable endpoint may be chosen",
        ),
        ["10.244.1.31:8080", "10.244.2.31:8080"],
        {},
        ("node", "the client is this node itself"),
    ),
    (
        "10.96.0.33:80",
        "dropped: Service edge/inner has no usable endpoint on this node, and its policy is Local",
        (
            "spec.internalTrafficPolicy: Local",
            "only endpoints on this node may answer, and none here can be used",
        ),
        [],
        {"10.244.2.33:8080": OTHER_NODE},
        None,
    ),
    (
        "198.51.100.34:80",
        "not touched: 198.51.100.34 is the load balancer of Service edge/proxied, which wants its packets itself",
        ("status.loadBalancer.ingress[].ipMode: Proxy", "so this proxy leaves it alone"),
        [],
        {},
        None,
    ),
    (
        "198.51.100.35:80",
        "arrives: Service edge/first gives it to 10.244.2.35:8080, the only endpoint it may choose",
        ("spec.externalTrafficPolicy: Cluster", CLUSTER),
        ["10.244.2.35:8080"],
        {},
        ("node", "externalTrafficPolicy is Cluster, so the endpoint may be on another node"),
    ),
    (
        "10.96.0.10:53/udp",
        "arrives: Service kube-system/kube-dns:dns gives it to 10.244.1.53:53, the only endpoint it may choose",
        (
            "EndpointSlice endpoints[].hints.forZones",
            "only endpoints meant for this node's zone (zone-1), since every ready endpoint says whom it is meant for",
        ),
        ["10.244.1.53:53"],
        {"10.244.2.53:53": "its zone hints do not name this node's zone"},
        ("10.244.1.254", "its address is not changed"),
    ),
    (
        "10.96.0.41:80",
        "arrives: Service kube-system/own gives it to 10.244.1.41:8080, the only endpoint it may choose",
        (
            "EndpointSlice endpoints[].hints.forNodes",
            "only endpoints meant for this node, since every ready endpoint says whom it is meant for",
        ),
        ["10.244.1.41:8080"],
        {"10.244.2.41:8080": "its node hints do not name this node"},
        ("10.244.1.254", "its address is not changed"),
    ),
    (
        "10.96.0.40:80",
        "arrives: Service kube-system/hinted gives it to one of 2 endpoints",
        ("spec.internalTrafficPolicy: Cluster", CLUSTER),
        ["10.244.1.40:8080", "10.244.2.40:8080"],
        {},
        ("10.244.1.254", "its address is not changed"),
    ),
    (
        "[fd00:10:96::10]:53/udp",
        "arrives: Service kube-system/kube-dns:dns gives it to [fd00:10:244:1::53]:53, the only endpoint it may choose",
        ("spec.internalTrafficPolicy: Cluster", CLUSTER),
        ["[fd00:10:244:1::53]:53"],
        {},
        ("fd00:10:244:1::fe", "its address is not changed"),
    ),
    (
        "10.96.0.10:53",
        "not answered: Service kube-system/kube-dns has no port 53/TCP on 10.96.0.10",
        ("spec.ports: 53/UDP (dns), 9153/TCP (metrics)", "only these ports lead to endpoints"),
        [],
        {},
        None,
    ),
    (
        "10.96.0.20",
        "not answered: 10.96.0.20 is a cluster IP, which does not answer pings",
        (
            "spec.ports: 80/TCP (http)",
            "Service shop/web has these ports and nothing else; no machine has the address, so none answers",
        ),
        [],
        {},
        None,
    ),
    (
        "198.51.100.30/icmp",
        "not touched: a ping to 198.51.100.30 is not for Service edge/gate, only its ports are",
        (
            "spec.ports: 443/TCP (https)",
            "whoever has the address, such as a load balancer, answers pings or does not",
        ),
        [],
        {},
        None,
    ),
    (
        "--from pod 1.1.1.1:443",
        "not touched: no Service has the address 1.1.1.1",
        ("no field of any Service", "kube-proxy leaves the packet as it is, and it is routed as usual"),
        [],
        {},
        None,
    ),
    (
        "192.168.7.10:31931",
        "answered by kube-proxy itself: it tells load balancers about Service edge/near",
        ("spec.healthCheckNodePort: 31931", "this node has 1 ready endpoint of it, so the answer is 200"),
        [],
        {},
        None,
    ),
    (
        "192.168.7.10:31932",
        "answered by kube-proxy itself: it tells load balancers about Service edge/far",
        ("spec.healthCheckNodePort: 31932", "this node has 0 ready endpoints of it, so the answer is 503"),
        [],
        {},
        None,
    ),
    (
        "192.168.7.10:31999",
        "not touched: 192.168.7.10 is this node, and no Service has node port 31999/TCP",
        ("spec.ports[].nodePort: 31999/TCP", "no Service has it"),
        [],
        {},
        None,
    ),
    (
        "192.168.7.11:30080",
        "not touched: 192.168.7.11 is the node node-b, and this node only routes to it",
        ("no field of any Service", "what other nodes answer is decided there"),
        [],
        {},
        None,
    ),
    (
        "192.168.7.10",
        "not touched: 192.168.7.10 is this node, which answers pings itself",
        ("no field of any Service", "a Service has only its ports"),
        [],
        {},
        None,
    ),
    (
        "--from outside 10.244.2.5:8080",
        "not touched: 10.244.2.5 is a pod on node-b, and packets to pods pass by all Services",
        ("no field of any Service", "a pod's own address is routed to it as it is"),
        [],
        {},
        None,
    ),
    (
        "10.244.2.200:80",
        "not touched: 10.244.2.200 is in the pod network of node-b, and packets to pods pass by all Services",
        ("no field of any Service", "a pod's own address is routed to it as it is"),
        [],
        {},
        None,
    ),
    (
        "10.96.200.1:80",
        "not answered: no Service has the cluster IP 10.96.200.1",
        ("cluster IPs come from 10.96.0.0/16", "nobody else has such an address"),
        [],
        {},
        None,
    ),
    (
        "10.96.0.50:80",
        "not touched: 10.96.0.50 is an address of Service shop/meshed, which is left to another proxy",
        (
            "metadata.labels[service.kubernetes.io/service-proxy-name]: mesh",
            "so this proxy leaves it alone",
        ),
        [],
        {},
        None,
    ),
    (
        "--from outside 127.0.0.1:9",
        "dropped: 127.0.0.1 is loopback, which only the node itself may use",
        ("iptables.localhostNodePorts: true", "only this node itself may use its loopback addresses"),
        [],
        {},
        None,
    ),
    (
        "[::1]:30080",
        "not touched: ::1 is the sender's own loopback, and no Service has node port 30080/TCP",
        ("spec.ports[].nodePort: 30080/TCP", "no Service has it"),
        [],
        {},
        None,
    ),
]


def test_there_are_enough_questions():
    assert len({question for question, *_ in QUESTIONS}) == len(QUESTIONS) >= 25


@pytest.mark.parametrize(
    ("question", "verdict", "field", "endpoints", "left_out", "sees"),
    QUESTIONS,
    ids=[q for q, *_ in QUESTIONS],
)
def test_a_question_is_answered(capsys, question, verdict, field, endpoints, left_out, sees):
    found = only(capsys, question)
    assert found["summary"] == verdict
    first = found["decided"][0]
    assert (first["field"], first["because"]) == field
    assert [one["endpoint"] for one in found["endpoints"]] == endpoints
    assert {one["endpoint"]: one["because"] for one in found["excluded"]} == left_out
    seen = found["podSees"]
    assert (seen and (seen["address"], seen["because"])) == sees


@pytest.mark.parametrize(("question", "verdict"), [(q, v) for q, v, *_ in QUESTIONS])
def test_people_read_the_verdict_first_in_short_lines_and_within_a_second(capsys, question, verdict):
    before = time.monotonic()
    assert ask(question) == 0
    took = time.monotonic() - before
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [verdict, ""]
    assert max(map(len, lines[1:])) <= 100
    assert took < 1
