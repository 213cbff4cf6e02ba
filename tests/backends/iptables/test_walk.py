"""The walk on rules written by hand: what the kernel would do, whoever wrote them."""

import pytest

from kubeproxy.backends.iptables.walk import walk
from kubeproxy.model.identity import Family
from kubeproxy.packets.packet import Choice, Outcome, Packet, Story
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.wire.iptdump import parse_tables

NODE = NodeView(Family.IPV4, addresses=("127.0.0.1", "192.0.2.10"))
COMING = Packet("203.0.113.7", "10.0.0.1", 80)
TO_NODE = Packet("203.0.113.7", "192.0.2.10", 80)
OWN = Packet("192.0.2.10", "10.0.0.1", 80, interface="")
OWN_TO_NODE = Packet("192.0.2.10", "192.0.2.10", 80, interface="")


def story(rules: str, packet: Packet = COMING) -> Story:
    """Rules as "table: line"; chains are declared where they are first named."""
    tables: dict[str, list[str]] = {"nat": [], "filter": []}
    for line in filter(None, map(str.strip, rules.splitlines())):
        table, _, rule = line.partition(": ")
        tables[table].append(rule)
    text = []
    for table, lines in tables.items():
        own = dict.fromkeys(
            line.split()[1] for line in lines if line.startswith("-A") and line.split()[1].islower()
        )
        text += [f"*{table}", *(line for line in lines if line.startswith(":"))]
        text += [
            *(f":{chain} -" for chain in own),
            *(line for line in lines if not line.startswith(":")),
            "COMMIT",
        ]
    return walk(parse_tables(text), packet, NODE)


FORWARDED = "filter: -A FORWARD -j DROP"
HOOKS = [
    # which packet, a rule in which hook, what becomes of it
    (COMING, FORWARDED, Outcome.DROPPED),
    (COMING, "filter: -A INPUT -j DROP", Outcome.UNTOUCHED),
    (COMING, "filter: -A OUTPUT -j DROP", Outcome.UNTOUCHED),
    (TO_NODE, FORWARDED, Outcome.UNTOUCHED),
    (TO_NODE, "filter: -A INPUT -j REJECT", Outcome.REJECTED),
    (OWN, FORWARDED, Outcome.UNTOUCHED),
    (OWN, "filter: -A OUTPUT -j DROP", Outcome.DROPPED),
    (OWN, "filter: -A INPUT -j DROP", Outcome.UNTOUCHED),
    (OWN_TO_NODE, "filter: -A OUTPUT -j DROP", Outcome.DROPPED),
    (OWN_TO_NODE, "filter: -A INPUT -j DROP", Outcome.DROPPED),
    (OWN_TO_NODE, "filter: -A INPUT -i lo -j DROP", Outcome.DROPPED),
    (COMING, "nat: -A PREROUTING -j DNAT --to-destination 1.1.1.1:8080", Outcome.ARRIVES),
    (COMING, "nat: -A OUTPUT -j DNAT --to-destination 1.1.1.1:8080", Outcome.UNTOUCHED),
    (OWN, "nat: -A PREROUTING -j DNAT --to-destination 1.1.1.1:8080", Outcome.UNTOUCHED),
    (OWN, "nat: -A OUTPUT -j DNAT --to-destination 1.1.1.1:8080", Outcome.ARRIVES),
    (OWN_TO_NODE, "nat: -A PREROUTING -j DNAT --to-destination 1.1.1.1:8080", Outcome.UNTOUCHED),
]


@pytest.mark.parametrize(("packet", "rule", "end"), HOOKS)
def test_which_hooks_a_packet_passes(packet, rule, end):
    assert story(rule, packet).outcome is end


CONDITIONS = [
    ("-s 203.0.113.0/24", True),
    ("! -s 203.0.113.0/24", False),
    ("-d 10.0.0.1", True),
    ("-d 10.0.0.2", False),
    ("-p tcp", True),
    ("-p udp", False),
    ("-p tcp -m tcp --dport 80", True),
    ("-p tcp -m tcp --dport 70:90", True),
    ("-p tcp -m tcp --dport 81", False),
    ("-p udp -m udp --dport 80", False),
    ("-i eth0", True),
    ("-i eth+", True),
    ("-i eth1", False),
    ("! -i eth1", True),
    ("-m conntrack --ctstate NEW", True),
    ("-m conntrack --ctstate RELATED,ESTABLISHED", False),
    ("-m conntrack --ctstate DNAT", False),
    ("-m conntrack ! --ctstate DNAT", True),
    ("-m state --state NEW,INVALID", True),
    ("-m mark --mark 0x0/0x4000", True),
    ("-m mark --mark 0x4000/0x4000", False),
    ("-m mark ! --mark 0x4000/0x4000", True),
    ("-m addrtype --dst-type UNICAST", True),
    ("-m addrtype --dst-type LOCAL", False),
    ("-m addrtype ! --src-type LOCAL", True),
    ("-m nfacct --nfacct-name some", True),
    ("-m comment --comment any", True),
    ("-m statistic --mode random --probability 1.0", True),
    ("-m statistic --mode random --probability 0", False),
    ("-m recent --name unknown --rcheck", False),
]


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS)
def test_a_condition_holds_or_not(condition, holds):
    end = story(f"filter: -A FORWARD {condition} -j DROP").outcome
    assert end is (Outcome.DROPPED if holds else Outcome.UNTOUCHED)


def test_what_this_node_made_came_in_nowhere():
    assert story("filter: -A OUTPUT -i eth0 -j DROP", OWN).outcome is Outcome.UNTOUCHED
    assert story("filter: -A OUTPUT ! -i eth0 -j DROP", OWN).outcome is Outcome.DROPPED


def test_filter_sees_the_translated_destination_and_that_it_is_one():
    rules = "nat: -A PREROUTING -j DNAT --to-destination 192.0.2.10:22\n"
    assert story(rules + "filter: -A INPUT -p tcp --dport 22 -j DROP").outcome is Outcome.DROPPED
    assert story(rules + "filter: -A INPUT -m conntrack ! --ctstate DNAT -j DROP").outcome is Outcome.ARRIVES
    assert story(rules + "filter: -A FORWARD -j DROP").outcome is Outcome.ARRIVES


def test_a_chain_without_verdict_returns_and_goto_does_not():
    rules = """
        filter: -A side -m comment --comment nothing
        filter: -A FORWARD {} side
        filter: -A FORWARD -j DROP
    """
    assert story(rules.format("-j")).outcome is Outcome.DROPPED
    assert story(rules.format("-g")).outcome is Outcome.UNTOUCHED


def test_return_leaves_the_chain_and_no_more():
    rules = """
        filter: -A side -s 203.0.113.7 -j RETURN
        filter: -A side -j ACCEPT
        filter: -A FORWARD -j side
        filter: -A FORWARD -j REJECT
    """
    assert story(rules).outcome is Outcome.REJECTED
    assert story(rules, Packet("203.0.113.8", "10.0.0.1", 80)).outcome is Outcome.UNTOUCHED


def test_accept_ends_one_hook_and_a_policy_decides_where_nobody_did():
    assert story("filter: :FORWARD DROP [0:0]").outcome is Outcome.DROPPED
    accepted = "filter: :FORWARD DROP [0:0]\nfilter: -A FORWARD -p tcp -j ACCEPT"
    assert story(accepted).outcome is Outcome.UNTOUCHED
    assert "filter FORWARD: dropped by its policy" in str(story("filter: :FORWARD DROP [0:0]"))


BALANCED = """
    nat: -A PREROUTING -d 10.0.0.1 -j svc
    nat: -A svc -m statistic --mode random --probability 0.3333333333 -j DNAT --to-destination 10.1.1.1:80
    nat: -A svc -m statistic --mode random --probability 0.5000000000 -j DNAT --to-destination 10.1.1.2:80
    nat: -A svc -j DNAT --to-destination 10.1.1.3:80
"""


def test_every_way_keeps_its_share():
    """0.3333333333 is kept in 31 bits; what its author meant is a third."""
    third = 1 / 3
    assert story(BALANCED).choices == tuple(Choice(f"10.1.1.{n}:80", third, False) for n in (1, 2, 3))


def test_a_share_that_is_no_fraction_is_taken_as_it_is():
    rules = (
        "nat: -A PREROUTING -m statistic --mode random --probability 0.7 -j DNAT --to-destination 10.1.1.1:80"
    )
    (choice,) = story(rules).choices
    assert choice.share == pytest.approx(0.7, abs=1e-9)


def test_marks_lead_to_masquerading():
    rules = """
        nat: -A PREROUTING -s 203.0.113.7 -j MARK --or-mark 0x4000
        nat: -A PREROUTING -j DNAT --to-destination 10.1.1.1
        nat: -A POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
        nat: -A POSTROUTING -j MARK --xor-mark 0x4000
        nat: -A POSTROUTING -j MASQUERADE --random-fully
    """
    assert story(rules).choices == (Choice("10.1.1.1:80", 1.0, True),)
    other = Packet("203.0.113.8", "10.0.0.1", 80)
    assert story(rules, other).choices == (Choice("10.1.1.1:80", 1.0, False),)


STICKY = """
    nat: -A PREROUTING -j svc
    nat: -A svc -m recent --name one --rcheck --seconds 60 --reap -j one
    nat: -A svc -m recent --name two --rcheck --seconds 60 --reap -j two
    nat: -A svc -m statistic --mode random --probability 0.5 -j one
    nat: -A svc -j two
    nat: -A one -p tcp -m recent --name one --set -j DNAT --to-destination 10.1.1.1:80
    nat: -A two -p tcp -m recent --name two --set -j DNAT --to-destination 10.1.1.2:80
"""


@pytest.mark.parametrize(
    ("remembers", "goes"), [("10.1.1.1:80", 1), ("10.1.1.2:80", 1), ("10.1.1.3:80", 2), ("", 2)]
)
def test_a_list_of_senders_stands_for_the_endpoint_its_rule_translates_to(remembers, goes):
    packet = Packet("203.0.113.7", "10.0.0.1", 80, remembers=remembers)
    choices = story(STICKY, packet).choices
    assert len(choices) == goes
    assert goes == 2 or choices == (Choice(remembers, 1.0, False),)


def test_a_foreign_rule_is_passed_over_and_said_so():
    """Only where its other conditions hold: rules about other packets are nothing to mention."""
    foreign = "filter: -A FORWARD -s {} -m set --match-set theirs dst -j DROP"
    told = story(foreign.format("203.0.113.7"))
    assert told.outcome is Outcome.UNTOUCHED
    assert [step.what for step in told.steps] == [
        "filter FORWARD: passed over, as nobody here understands set"
    ]
    assert told.steps[0].detail == "-A FORWARD -s 203.0.113.7 -m set --match-set theirs dst -j DROP"
    assert story(foreign.format("203.0.113.8")).steps == ()


def test_a_foreign_target_is_passed_over_and_said_so():
    told = story("filter: -A FORWARD -j NFQUEUE --queue-num 3\nfilter: -A FORWARD -j REJECT")
    assert told.outcome is Outcome.REJECTED
    assert "nobody here understands NFQUEUE" in told.steps[0].what


def test_the_story_names_the_rules_in_the_order_they_were_met():
    told = story(
        'nat: -A svc -m comment --comment "a/b:c" -j DNAT --to-destination 10.1.1.1:80\nnat: -A PREROUTING -j svc'
    )
    assert [(step.what, step.because) for step in told.steps] == [
        ("nat PREROUTING: to svc", ""),
        ("nat svc: DNAT --to-destination 10.1.1.1:80", "a/b:c"),
    ]


def test_ipv6_destinations_are_written_in_brackets():
    node = NodeView(Family.IPV6, addresses=("::1", "fd00:2::10"))
    text = "*nat\n-A PREROUTING -d fd00::1 -j DNAT --to-destination [fd00:1::1]:8080\nCOMMIT".splitlines()
    told = walk(parse_tables(text), Packet("2001:db8::7", "fd00::1", 80), node)
    assert told.choices == (Choice("[fd00:1::1]:8080", 1.0, False),)
