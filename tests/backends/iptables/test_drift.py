"""What others do to the kernel's rules: which of it harms us, and which is their own business."""

import pytest

from kubeproxy.backends.iptables import drift
from kubeproxy.backends.iptables.skeleton import JUMPS
from kubeproxy.wire.netlink import AF_INET
from kubeproxy.wire.nfnotify import Happened, RulesetChange, Thing
from kubeproxy.wire.nfquery import BaseRule

ADDED, REMOVED = Happened.ADDED, Happened.REMOVED
TABLE, CHAIN, RULE = Thing.TABLE, Thing.CHAIN, Thing.RULE
SVC, SEP = "KUBE-SVC-NPX46M4PTMTKRN6Y", "KUBE-SEP-5XN2YJP7OMVUGL7X"
HARM, LOOK, NOTHING = "harm", "look at the jumps", "none of our business"

CHANGES = [
    # what happened, to what, in which table, which chain; what it is to us
    (REMOVED, RULE, "nat", "KUBE-SERVICES", HARM),
    (ADDED, RULE, "nat", "KUBE-SERVICES", HARM),
    (ADDED, RULE, "nat", SVC, HARM),
    (REMOVED, RULE, "nat", SEP, HARM),
    (REMOVED, RULE, "filter", "KUBE-FORWARD", HARM),
    (ADDED, RULE, "filter", "KUBE-PROXY-FIREWALL", HARM),
    (REMOVED, CHAIN, "nat", SVC, HARM),
    (REMOVED, CHAIN, "nat", "KUBE-MARK-MASQ", HARM),
    (REMOVED, CHAIN, "mangle", "KUBE-PROXY-CANARY", HARM),
    (REMOVED, CHAIN, "nat", "KUBE-PROXY-CANARY", HARM),
    (REMOVED, CHAIN, "filter", "KUBE-FIREWALL", HARM),
    (REMOVED, CHAIN, "nat", "PREROUTING", HARM),
    (REMOVED, TABLE, "nat", "", HARM),
    (REMOVED, TABLE, "mangle", "", HARM),
    # a jump of ours may be gone, or a rule of somebody else's
    (REMOVED, RULE, "nat", "PREROUTING", LOOK),
    (REMOVED, RULE, "nat", "POSTROUTING", LOOK),
    (REMOVED, RULE, "filter", "FORWARD", LOOK),
    # the chain we share with the kubelet: it adds its rule where there is none, and ours is equal
    (REMOVED, RULE, "filter", "KUBE-FIREWALL", HARM),
    (ADDED, RULE, "filter", "KUBE-FIREWALL", NOTHING),
    # others add what they like
    (ADDED, RULE, "nat", "PREROUTING", NOTHING),
    (ADDED, RULE, "filter", "FORWARD", NOTHING),
    (ADDED, RULE, "nat", "DOCKER", NOTHING),
    (REMOVED, RULE, "nat", "CNI-HOSTPORT-DNAT", NOTHING),
    (REMOVED, CHAIN, "nat", "CNI-DN-0123456789", NOTHING),
    (ADDED, RULE, "nat", "KUBE-HOSTPORTS", NOTHING),
    (ADDED, CHAIN, "nat", SVC, NOTHING),
    (ADDED, TABLE, "nat", "", NOTHING),
    (REMOVED, CHAIN, "mangle", "KUBE-KUBELET-CANARY", NOTHING),
    (ADDED, CHAIN, "mangle", "KUBE-IPTABLES-HINT", NOTHING),
    (REMOVED, RULE, "nat", "INPUT", NOTHING),
    (REMOVED, RULE, "mangle", "PREROUTING", NOTHING),
    (REMOVED, RULE, "raw", "PREROUTING", NOTHING),
    (REMOVED, TABLE, "raw", "", NOTHING),
    # a name of ours in another table is not ours
    (REMOVED, RULE, "mangle", "KUBE-SERVICES", NOTHING),
    (REMOVED, RULE, "filter", SVC, NOTHING),
    (REMOVED, Thing.SET, "nat", "KUBE-SERVICES", NOTHING),
    (REMOVED, Thing.ELEMENT, "filter", "KUBE-FORWARD", NOTHING),
]


def meaning(change: RulesetChange) -> str:
    if drift.ours(change):
        return HARM
    return LOOK if drift.hook(change) else NOTHING


@pytest.mark.parametrize("happened, thing, table, name, means", CHANGES)
def test_only_what_was_taken_from_us_counts(happened, thing, table, name, means):
    assert meaning(RulesetChange(happened, thing, AF_INET, table, name)) == means


def test_every_built_in_chain_with_a_jump_of_ours_is_looked_at():
    """None of the jumps may go without anybody noticing."""
    for table, chain, _ in JUMPS:
        assert meaning(RulesetChange(REMOVED, RULE, AF_INET, table, chain)) == LOOK


GONE = RulesetChange(REMOVED, RULE, AF_INET, "filter", "OUTPUT", 99)
OUTPUT = (
    BaseRule(3, "DOCKER-USER"),
    BaseRule(14, "KUBE-FIREWALL"),
    BaseRule(8),
    BaseRule(9, "KUBE-PROXY-FIREWALL"),
    BaseRule(4, "KUBE-SERVICES"),
    BaseRule(5, "cali-OUTPUT"),
)


def test_jumps_are_found_among_the_rules_of_others_in_any_order():
    assert drift.hooked(GONE, OUTPUT) == {14, 9, 4}
    assert drift.hooked(GONE, OUTPUT[::-1]) == {14, 9, 4}


@pytest.mark.parametrize("target", ["KUBE-FIREWALL", "KUBE-PROXY-FIREWALL", "KUBE-SERVICES"])
def test_each_missing_jump_is_missed(target):
    assert drift.hooked(GONE, [rule for rule in OUTPUT if rule.target != target]) is None


def test_what_was_done_is_told_in_a_few_words():
    flushed = [RulesetChange(REMOVED, RULE, AF_INET, "nat", "KUBE-SERVICES", n) for n in range(3)]
    deleted = RulesetChange(REMOVED, CHAIN, AF_INET, "nat", SVC)
    table = RulesetChange(REMOVED, TABLE, AF_INET, "nat")
    assert drift.told([deleted, *flushed, table]) == (
        "3 rules removed, table nat, chain KUBE-SERVICES",
        f"chain {SVC} removed, table nat",
        "table nat removed",
    )
    many = [RulesetChange(REMOVED, RULE, AF_INET, "nat", f"KUBE-SEP-{n}", n) for n in range(10)]
    assert drift.told(many, most=2) == (
        "1 rule removed, table nat, chain KUBE-SEP-0",
        "1 rule removed, table nat, chain KUBE-SEP-1",
        "and in 8 other places",
    )
