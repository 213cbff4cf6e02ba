"""Cleaning up leaves nothing of ours, and what somebody holds on to keeps nothing else."""

import pytest

from kubeproxy.api.change import Upsert
from kubeproxy.backends.iptables.cleanup import cleanup, one_by_one, ours_left
from kubeproxy.backends.iptables.text import Payload, whole
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.memory import Memory
from kubeproxy.kernel.processes import Flavour
from kubeproxy.model.tracker import Tracker
from kubeproxy.routes.decide import Routes, decide
from kubeproxy.wire.restore import Restore
from tests.backends.iptables.test_worked import backend, endpoint_slice, example, node, service

LEFT = {("filter", "KUBE-FIREWALL")}


def programmed(flavour: Flavour) -> Memory:
    """A kernel that holds the rules of a load balancer with Local policy, and the canaries."""
    case, tracker, view, dialect = example("A7"), Tracker(), node({}), backend({})
    tracker.fold([Upsert(service(one)) for one in case["services"]])
    tracker.fold([Upsert(endpoint_slice(one)) for one in case["endpointSlices"]])
    routes = Routes()
    decide(tracker.snapshot, view, tracker.snapshot.names(view.family), routes)
    wanted = dialect.prepare(view)
    dialect.compile(wanted, dict(routes))
    kernel = Memory(flavour)
    for counter in ("ct_state_invalid_dropped_pkts", "localhost_nps_accepted_pkts"):
        kernel.counters[counter] = (0, 0)
    kernel.commit([Restore(False, Payload(lambda: whole(wanted)))])
    return kernel


@pytest.mark.parametrize("flavour", Flavour)
def test_only_what_the_kubelet_has_as_well_is_left(flavour):
    kernel = programmed(flavour)
    for step in cleanup(kernel.read(ipv6=False), ipv6=False).steps:
        kernel.commit(step.ops)
    saved = kernel.read(ipv6=False)
    assert set(saved.chains) == LEFT
    hooks = {place: rules for place, rules in saved.builtin.items() if rules}
    assert {rule.rpartition(b" ")[2] for rules in hooks.values() for rule in rules} == {b"KUBE-FIREWALL"}
    assert ours_left(saved) == []


@pytest.mark.parametrize("flavour", Flavour)
def test_a_chain_that_somebody_leads_into_stays_empty_and_keeps_nothing_else(flavour):
    kernel = programmed(flavour)
    chain = next(name for table, name in kernel.read(ipv6=False).chains if name.startswith("KUBE-SVC-"))
    foreign = f"*nat\n-I OUTPUT -d 9.9.9.9/32 -j {chain}\nCOMMIT\n".encode()
    kernel.commit([Restore(False, [foreign])])
    refused = 0
    for step in [
        *cleanup(kernel.read(ipv6=False), ipv6=False).steps,
        *one_by_one(kernel.read(ipv6=False), ipv6=False).steps,
    ]:
        try:
            kernel.commit(step.ops)
        except KernelError:
            refused += 1
    saved = kernel.read(ipv6=False)
    assert ours_left(saved) == [("nat", chain)]
    assert refused == 2, "the table's chains at once, and then that one chain"
    assert saved.builtin["nat", "OUTPUT"] == (f"-A OUTPUT -d 9.9.9.9/32 -j {chain}".encode(),)
    assert saved.rules("nat") == 1
