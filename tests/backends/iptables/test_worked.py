"""The worked examples: a cluster, and every rule it leads to, word by word."""

from pathlib import Path

import pytest
import yaml

from kubeproxy.api.change import Change, Delete, Upsert
from kubeproxy.api.decode import decode_as
from kubeproxy.api.endpointslice import EndpointSlice
from kubeproxy.api.meta import Ref
from kubeproxy.api.service import Service
from kubeproxy.backends.iptables.backend import IPTables
from kubeproxy.backends.iptables.dialect import Facts
from kubeproxy.backends.iptables.ruleset import Known
from kubeproxy.backends.iptables.text import whole
from kubeproxy.model.identity import Family
from kubeproxy.model.tracker import Tracker
from kubeproxy.routes.decide import Routes, decide
from kubeproxy.routes.nodeview import DetectBy, Detector, NodePortAddresses, NodeView
from tests.backends.iptables.restored import Tables, empty, ours, restore

EXAMPLES = Path(__file__).parent / "worked"
SINGLE = sorted(path.stem for path in EXAMPLES.glob("A*.yaml"))


def example(name: str) -> dict:
    return yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())


def service(record: dict) -> Service:
    """A Service out of the examples' short hand."""
    spec = {key: value for key, value in record.items() if key not in ("namespace", "name", "ingressIPs")}
    spec["clusterIP"] = record["clusterIPs"][0]
    spec["ipFamilies"] = ["IPv6" if ":" in spec["clusterIP"] else "IPv4"]
    if "affinityTimeoutSeconds" in spec:
        timeout = spec.pop("affinityTimeoutSeconds")
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": timeout}}
    ingress = [{"ip": ip} for ip in record.get("ingressIPs", ())]
    raw = {
        "metadata": {"namespace": record["namespace"], "name": record["name"]},
        "spec": spec,
        "status": {"loadBalancer": {"ingress": ingress}},
    }
    return decode_as(Service, raw)


def endpoint_slice(record: dict) -> EndpointSlice:
    namespace, name = record["service"].split("/")
    endpoints = [
        {
            "addresses": [one["address"]],
            "nodeName": one["nodeName"],
            "conditions": {key: one[key] for key in ("ready", "serving", "terminating") if key in one},
            "hints": {"forZones": [{"name": zone} for zone in one.get("zoneHints", ())]},
        }
        for one in record["endpoints"]
    ]
    six = ":" in record["endpoints"][0]["address"]
    raw = {
        "metadata": {
            "namespace": namespace,
            "name": f"{name}-1",
            "labels": {"kubernetes.io/service-name": name},
        },
        "addressType": "IPv6" if six else "IPv4",
        "endpoints": endpoints,
        "ports": record["ports"],
    }
    return decode_as(EndpointSlice, raw)


def node(config: dict) -> NodeView:
    family = Family(config.get("ipFamily", "IPv4"))
    four = family is Family.IPV4
    detector = Detector(DetectBy.CIDR, config.get("clusterCIDR", "10.1.0.0/16"))
    if "bridgeInterface" in config:
        detector = Detector(DetectBy.INTERFACE, config["bridgeInterface"])
    networks = tuple(config.get("nodePortAddresses", ()))
    return NodeView(
        family=family,
        name="node-a",
        zone="zone-1",
        node_ip=config.get("nodeIP", "192.168.5.10"),
        addresses=tuple(config.get("nodeInterfaceAddresses", ("127.0.0.1", "192.168.5.10"))),
        detector=detector,
        masquerade_all=config.get("masqueradeAll", False),
        node_ports=NodePortAddresses(not networks, networks),
        loopback_node_ports=four and config.get("localhostNodePorts", True) and not networks,
    )


def backend(config: dict) -> IPTables:
    counters = config.get("nfacctObjects", ["both"])
    facts = Facts(
        liberal=bool(config.get("conntrackTCPBeLiberal", 0)),
        counts_invalid=bool(counters),
        counts_loopback=bool(counters),
        random_fully=config.get("iptablesVersion", "1.8.9") != "1.6.1",
    )
    return IPTables(
        ipv6=config.get("ipFamily") == "IPv6",
        portion=None,
        masquerade_bit=config.get("masqueradeBit", 14),
        facts=facts,
    )


def rules(tables: Tables) -> dict[tuple[str, str], list[str]]:
    return {(table, chain): rules for table, chain, rules in ours(tables)}


def written(payload: str) -> Tables:
    tables = empty()
    restore(tables, [payload.encode()])
    return tables


@pytest.mark.parametrize("name", SINGLE)
def test_a_cluster_leads_to_these_rules(name):
    case = example(name)
    config = case.get("config", {})
    tracker, view, dialect = Tracker(), node(config), backend(config)
    tracker.fold([Upsert(service(one)) for one in case["services"]])
    tracker.fold([Upsert(endpoint_slice(one)) for one in case["endpointSlices"]])
    routes = Routes()
    decide(tracker.snapshot, view, tracker.snapshot.names(view.family), routes)
    wanted = dialect.prepare(view)
    dialect.compile(wanted, dict(routes))
    made = written("".join(text for _, text in whole(wanted)))
    expected = written(case["payloads"][0])
    assert rules(made) == rules(expected)
    assert made["filter"].get("KUBE-FIREWALL", []) == expected["filter"].get("KUBE-FIREWALL", [])
    assert wanted.rule_counts() == case["rules"]


class Node:
    """A node that is told one change after the other."""

    def __init__(self) -> None:
        self.tracker, self.view, self.dialect = Tracker(), node({}), backend({})
        self.routes, self.known = Routes(), Known()
        self.wanted = self.dialect.prepare(self.view)
        self.tables = empty()

    def hear(self, *changes: Change) -> str:
        """Fold, decide, compile, write; returns what was written."""
        names = self.tracker.fold(changes).of(self.view.family).names
        delta = decide(self.tracker.snapshot, self.view, names, self.routes)
        touched = self.dialect.compile(self.wanted, delta)
        sent = []
        for step in self.dialect.plan(self.known, self.wanted, touched).steps:
            for op in step.ops:
                restore(self.tables, op.payload)
                sent.append(b"".join(op.payload).decode())
            self.dialect.settle(self.known, step)
        return "".join(sent)


def start() -> Node:
    case, one = example("B"), Node()
    services = [Upsert(service(record)) for record in case["services"]]
    one.hear(*services, *(Upsert(endpoint_slice(record)) for record in case["endpointSlices"]))
    return one


def second_endpoint() -> Upsert:
    record = example("B")["endpointSlices"][0]
    record["endpoints"].append({"address": "10.1.9.3", "nodeName": "node-b"})
    return Upsert(endpoint_slice(record))


def no_endpoints() -> Delete:
    return Delete(Ref("EndpointSlice", "shop", "cart-1"))


SEQUENCE = [
    ("B1 a second endpoint", second_endpoint),
    ("B2 a Service is deleted", lambda: Delete(Ref("Service", "infra", "probe"))),
    ("B3 nothing but a full look", None),
    ("B4 the last endpoint goes", no_endpoints),
]


def test_changes_write_less_than_the_original_and_lead_to_the_same_rules():
    one, expected = start(), start().tables
    payloads = example("B")["payloads"]
    assert len(payloads) == len(SEQUENCE)
    for (story, change), payload in zip(SEQUENCE, payloads, strict=True):
        sent = one.hear(change()) if change else ""
        restore(expected, [payload.encode()])
        assert rules(one.tables) == rules(expected), story
        assert len(sent) < len(payload), story
        assert set(sent.splitlines()) <= set(payload.splitlines()), story


def test_one_endpoint_more_sends_only_the_chains_that_read_differently():
    sent = start().hear(second_endpoint())
    declared = [line.split()[0][1:] for line in sent.splitlines() if line.startswith(":")]
    assert declared == ["KUBE-SVC-N5W5PH5NLY2BP4HG", "KUBE-SEP-DUHO3J3OEZEKTGIZ"]


def test_nothing_changed_means_nothing_written():
    assert start().hear() == ""


def test_a_large_cluster_leaves_out_the_comments_of_endpoints():
    from kubeproxy.backends.iptables.compile import compile_port
    from kubeproxy.backends.iptables.phrases import phrases_of

    case = example("A5")
    tracker, view = Tracker(), node({})
    tracker.fold([Upsert(service(case["services"][0])), Upsert(endpoint_slice(case["endpointSlices"][0]))])
    routes = Routes()
    decide(tracker.snapshot, view, tracker.snapshot.names(view.family), routes)
    dialect = backend({}).prepare(view).dialect
    (decided,) = routes.values()
    chains, _ = compile_port(decided, phrases_of(dialect), large=True)
    made = {chain: [f"-A {chain} {rule}" for rule in text] for chain, text in chains}
    expected: dict[str, list[str]] = {}
    for line in example("C1")["payloads"][0].splitlines():
        expected.setdefault(line.split()[1], []).append(line)
    assert made == expected
