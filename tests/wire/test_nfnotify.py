"""What nf_tables announces, as iptables' nft flavour makes a 6.18 kernel announce it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.wire import nfnotify
from kubeproxy.wire.netlink import (
    AF_INET,
    AF_INET6,
    WireError,
    attribute_be32,
    attribute_be64,
    attribute_text,
    frames,
    message,
    nfgenmsg,
)
from kubeproxy.wire.nfnotify import Happened, RulesetChange, Thing, Transaction, TransactionReader

NEW_TABLE = (
    "38 00 00 00 00 0a 00 04 02 00 00 00 fe 17 00 00 02 00 00 02 08 00 01 00 6e 61 74 00 08 00 03 00 "
    "00 00 00 01 0c 00 04 00 00 00 00 00 00 00 00 01 08 00 02 00 00 00 00 00"
)
NEW_CHAIN = (
    "44 00 00 00 03 0a 00 02 03 00 00 00 fe 17 00 00 02 00 00 02 08 00 01 00 6e 61 74 00 12 00 03 00 "
    "4b 55 42 45 2d 53 45 52 56 49 43 45 53 00 00 00 0c 00 02 00 00 00 00 00 00 00 00 01 08 00 06 00 "
    "00 00 00 00"
)
DELETED_RULE = (
    "54 00 00 00 08 0a 00 00 02 00 00 00 fe 17 00 00 02 00 00 05 08 00 01 00 6e 61 74 00 12 00 02 00 "
    "4b 55 42 45 2d 53 45 52 56 49 43 45 53 00 00 00 0c 00 03 00 00 00 00 00 00 00 00 04 18 00 04 00 "
    "14 00 01 00 09 00 01 00 6d 65 74 61 00 00 00 00 04 00 02 00"
)
COMMIT = (
    "38 00 00 00 0f 0a 00 00 02 00 00 00 fe 17 00 00 00 00 00 02 08 00 01 00 00 00 00 02 08 00 02 00 "
    "00 00 17 fe 11 00 03 00 69 70 74 61 62 6c 65 73 2d 6e 66 74 00 00 00 00"
)
TABLE = RulesetChange(Happened.ADDED, Thing.TABLE, AF_INET, "nat")
CHAIN = RulesetChange(Happened.ADDED, Thing.CHAIN, AF_INET, "nat", "KUBE-SERVICES", 1)
RULE = RulesetChange(Happened.REMOVED, Thing.RULE, AF_INET, "nat", "KUBE-SERVICES", 4)


def hear(reader, *messages):
    """The transactions a reader tells of after these messages arrived in one datagram."""
    data = b"".join(bytes.fromhex(text) if isinstance(text, str) else text for text in messages)
    told = (reader.read(data, frame) for frame in frames(data, len(data)))
    return [transaction for transaction in told if transaction is not None]


def announcement(verb, *attributes, family=AF_INET, port=6142):
    return message(0x0A00 | verb, 0, 1, nfgenmsg(family) + b"".join(attributes), port)


def commit(generation, port=6142):
    return announcement(15, attribute_be32(1, generation), port=port)


def test_a_commit_is_told_with_all_it_changed_and_who_made_it():
    assert hear(TransactionReader(), NEW_TABLE, NEW_CHAIN, DELETED_RULE, COMMIT) == [
        Transaction(2, 6142, 6142, "iptables-nft", (TABLE, CHAIN, RULE))
    ]


def test_nothing_is_told_before_the_commit():
    """A large commit arrives in many datagrams; only its last message says that it happened."""
    reader = TransactionReader()
    assert hear(reader, NEW_TABLE) == []
    assert hear(reader, NEW_CHAIN) == []
    assert hear(reader, COMMIT) == [Transaction(2, 6142, 6142, "iptables-nft", (TABLE, CHAIN))]
    assert hear(reader, COMMIT) == [Transaction(2, 6142, 6142, "iptables-nft", ())]


def test_our_own_changes_are_not_taken_apart_but_the_commit_counts():
    own = {6142}
    reader = TransactionReader(own)
    assert hear(reader, NEW_TABLE, NEW_CHAIN, COMMIT) == [Transaction(2, 6142, 6142, "iptables-nft", ())]
    own.clear()
    assert hear(reader, NEW_TABLE, COMMIT) == [Transaction(2, 6142, 6142, "iptables-nft", (TABLE,))]


def test_half_a_transaction_is_forgotten_when_the_other_half_was_lost():
    reader = TransactionReader()
    hear(reader, NEW_TABLE, NEW_CHAIN)
    reader.forget()
    assert hear(reader, DELETED_RULE, COMMIT) == [Transaction(2, 6142, 6142, "iptables-nft", (RULE,))]


@pytest.mark.parametrize(
    "verb, happened, thing",
    [
        (9, Happened.ADDED, Thing.SET),
        (11, Happened.REMOVED, Thing.SET),
        (12, Happened.ADDED, Thing.ELEMENT),
        (14, Happened.REMOVED, Thing.ELEMENT),
        (18, Happened.ADDED, Thing.OBJECT),
        (20, Happened.REMOVED, Thing.OBJECT),
        (22, Happened.ADDED, Thing.FLOWTABLE),
        (24, Happened.REMOVED, Thing.FLOWTABLE),
    ],
)
def test_other_things_are_told_by_name(verb, happened, thing):
    message_bytes = announcement(
        verb, attribute_text(1, "kube-proxy"), attribute_text(2, "services"), family=AF_INET6
    )
    (told,) = hear(TransactionReader(), message_bytes, commit(9))
    assert told.changes == (RulesetChange(happened, thing, AF_INET6, "kube-proxy", "services"),)


def test_removed_tables_and_chains_are_told():
    chain = announcement(5, attribute_text(1, "nat"), attribute_text(3, "KUBE-X"), attribute_be64(2, 77))
    table = announcement(2, attribute_text(1, "nat"))
    (told,) = hear(TransactionReader(), chain, table, commit(9))
    assert told.changes == (
        RulesetChange(Happened.REMOVED, Thing.CHAIN, AF_INET, "nat", "KUBE-X", 77),
        RulesetChange(Happened.REMOVED, Thing.TABLE, AF_INET, "nat"),
    )


def test_a_commit_of_an_old_kernel_does_not_say_who():
    assert hear(TransactionReader(), commit(3, port=5)) == [Transaction(3, 5, 0, "", ())]


def test_messages_of_other_kinds_are_passed_over():
    """Traces come on the same socket when somebody debugs."""
    assert hear(TransactionReader(), announcement(17), commit(1))[0].changes == ()


@pytest.mark.parametrize(
    "broken, complaint",
    [
        (announcement(6, attribute_text(1, "nat")), "ruleset change (rule added): it does not say where"),
        (announcement(2), "ruleset change (table removed): it does not say where"),
        (message(0x0A00, 0, 1, b"")[:16], "ruleset change (table added): its fixed part is cut off"),
        (announcement(15), "ruleset generation: its number is missing"),
    ],
)
def test_what_does_not_say_enough_is_refused(broken, complaint):
    with pytest.raises(WireError) as refusal:
        hear(TransactionReader(), broken)
    assert str(refusal.value) == complaint


@given(st.sampled_from([0, 2, 3, 5, 6, 8, 9, 12, 15]), st.binary(max_size=120))
def test_noise_does_no_more_harm_than_a_refusal(verb, noise):
    try:
        hear(TransactionReader(), announcement(verb, noise))
    except WireError:
        pass


def test_the_half_of_a_commit_whose_end_was_lost_is_not_taken_for_the_next_ones():
    """After a flood the kernel still hands over what it had queued; then somebody else commits."""
    reader = TransactionReader()
    assert hear(reader, NEW_CHAIN, DELETED_RULE) == []
    added = announcement(6, attribute_text(1, "nat"), attribute_text(2, "B"), port=77)
    (theirs,) = hear(reader, added, commit(9, port=77))
    assert [change.name for change in theirs.changes] == ["B"]
    assert hear(reader, NEW_CHAIN, commit(10, port=77)) == [Transaction(10, 77, 0, "", ())]


def test_only_what_is_wanted_is_kept():
    reader = TransactionReader(wanted=lambda change: change.thing is Thing.RULE)
    (told,) = hear(reader, NEW_TABLE, NEW_CHAIN, DELETED_RULE, COMMIT)
    assert told.changes == (RULE,)


def test_of_a_flood_a_part_is_kept_and_the_rest_counted(monkeypatch):
    monkeypatch.setattr(nfnotify, "MOST_CHANGES", 3)
    reader = TransactionReader()
    told, after = hear(reader, *[DELETED_RULE] * 10, COMMIT, DELETED_RULE, COMMIT)
    assert (told.changes, told.more) == ((RULE,) * 3, 7)
    assert (after.changes, after.more) == ((RULE,), 0)
