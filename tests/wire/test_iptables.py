"""A rule is one value, however a program spells it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.wire.iptables import Match, Rule, Target, parse_rule
from kubeproxy.wire.iptdump import Chain, parse_tables, restore_text
from kubeproxy.wire.netlink import WireError

# What is given to the restore program, and what the save program (1.8.9, 1.8.11 and 1.8.13, both flavours)
# makes of it.
SPELLINGS = [
    ("-m tcp -p tcp -d 172.30.20.1 --dport 80 -j X", "-d 172.30.20.1/32 -p tcp -m tcp --dport 80 -j X"),
    ("-m sctp -p sctp -d fd00:30:20::1 --dport 80 -j X", "-d fd00:30:20::1/128 -p sctp -m sctp --dport 80 -j X"),
    ("-d 127.0.0.0/8 ! -s 127.0.0.0/8 -j DROP", "! -s 127.0.0.0/8 -d 127.0.0.0/8 -j DROP"),
    ("-m mark ! --mark 0x00004000/0x00004000 -j RETURN", "-m mark ! --mark 0x4000/0x4000 -j RETURN"),
    ("-j MARK --or-mark 0x00004000", "-j MARK --set-xmark 0x4000/0x4000"),
    ("-j MARK --xor-mark 0x00004000", "-j MARK --set-xmark 0x4000/0x0"),
    ("-j MARK --and-mark 0xffffbfff", "-j MARK --set-xmark 0x0/0x4000"),
    ("-j MARK --set-mark 0x4000/0x4000", "-j MARK --set-xmark 0x4000/0x4000"),
    ("-j MARK --set-mark 1", "-j MARK --set-xmark 0x1/0xffffffff"),
    ("-m comment --comment web/sticky:http -j X", '-m comment --comment "web/sticky:http" -j X'),
    (
        "-m statistic --mode random --probability 0.3333333333 -j X",
        "-m statistic --mode random --probability 0.33333333349 -j X",
    ),
    (
        "-m statistic --mode random --probability 0.1428571429 -j X",
        "-m statistic --mode random --probability 0.14285714272 -j X",
    ),
    (
        "-m recent --name N --rcheck --seconds 10800 --reap -j N",
        "-m recent --rcheck --seconds 10800 --reap --name N --mask 255.255.255.255 --rsource -j N",
    ),
    (
        "-m comment --comment a/b -m recent --name N --set -m tcp -p tcp -j DNAT --to-destination [fd00::1]:80",
        '-p tcp -m comment --comment "a/b" -m recent --set --name N --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rsource -m tcp -j DNAT --to-destination [fd00::1]:80',
    ),
    ("-j REJECT", "-j REJECT --reject-with icmp-port-unreachable"),
    ("-j REJECT", "-j REJECT --reject-with icmp6-port-unreachable"),
    ("-m nfacct --nfacct-name x -j DROP", "-m nfacct --nfacct-name  x -j DROP"),
    ("--protocol 17 --destination-port 53 --jump X", "-p udp -m udp --dport 53 -j X"),
    ("-s 10.1.2.3/16 -d 0.0.0.0/0 -j X", "-s 10.1.0.0/16 -j X"),
    ("-s 10.1.0.0/255.255.0.0 -j X", "-s 10.1.0.0/16 -j X"),
    ("-m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT", "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"),
]  # fmt: skip


@pytest.mark.parametrize(("given_text", "saved_text"), SPELLINGS)
def test_what_was_restored_equals_what_is_saved(given_text, saved_text):
    assert parse_rule(f"-A C {given_text}") == parse_rule(f"-A C {saved_text}")


@pytest.mark.parametrize("text", [text for pair in SPELLINGS for text in pair])
def test_a_printed_rule_reads_back(text):
    rule = parse_rule(f"-A C {text}")
    assert parse_rule(str(rule)) == rule


def test_the_parts_of_a_rule():
    """The value, and not only its equality: the walk looks at each of these."""
    rule = parse_rule(
        '-A KUBE-X ! -s 10.1.0.0/16 -p tcp -m comment --comment "a \\"b\\" c" -m tcp --dport 80 -j DNAT --to-destination 1.2.3.4:5'
    )
    assert rule == Rule(
        "KUBE-X",
        (
            Match("", "-p", "tcp"),
            Match("", "-s", "10.1.0.0/16", negated=True),
            Match("comment", "--comment", 'a "b" c'),
            Match("tcp", "--dport", "80"),
        ),
        Target("DNAT", ("--to-destination", "1.2.3.4:5")),
    )
    assert rule.comment == 'a "b" c'


def test_a_rule_without_target_and_one_that_goes():
    assert parse_rule("-A C -m comment --comment x").target is None
    assert parse_rule("-A C -g OTHER").target == Target("OTHER", goto=True)


FOREIGN = [
    ("-m set --match-set KUBE-CLUSTER-IP dst,dst -j X", ["--match-set KUBE-CLUSTER-IP dst,dst"]),
    ("-m physdev ! --physdev-is-in -j ACCEPT", ["! --physdev-is-in"]),
    ("-m rpfilter --loose -m set ! --match-set a src -j DROP", ["--loose", "! --match-set a src"]),
    ("-p tcp -m tcp --tcp-flags SYN,RST SYN -j X", ["--tcp-flags SYN,RST SYN"]),
    ("-m mark --mark 1 -m connmark --mark 0x1/0x1 -j X", ["--mark 0x1/0x1"]),
    ('-m string --string "a b" --algo bm -j X', ['--string "a b" --algo bm']),
    ("-m socket -j X", [""]),
]


@pytest.mark.parametrize(("text", "opaque"), FOREIGN)
def test_what_nobody_here_knows_is_kept_word_by_word(text, opaque):
    rule = parse_rule(f"-A C {text}")
    assert [match.value for match in rule.matches if match.foreign] == opaque
    assert parse_rule(str(rule)) == rule


MALFORMED = [
    ("", "starts with -A"),
    ("-A", "starts with -A"),
    ("-X C", "starts with -A"),
    ("-A C -m", "-m needs a value"),
    ("-A C -j", "-j needs a value"),
    ("-A C --dport 80", "'--dport' belongs to no match"),
    ("-A C -p tcp --dport", "--dport needs a value"),
    ('-A C -m comment --comment "open', "quote is not closed"),
    ("-A C -m mark --mark many -j X", "--mark has a value"),
    ("-A C -m statistic --mode random --probability often -j X", "--probability has a value"),
    ("-A C -j MARK --or-mark x", "'x' is no number"),
    ("-A C -s nowhere -j X", "'nowhere' of -s"),
]


@pytest.mark.parametrize(("line", "problem"), MALFORMED)
def test_a_malformed_line_is_named(line, problem):
    with pytest.raises(WireError) as caught:
        parse_rule(line)
    assert problem in str(caught.value)
    assert repr(line) in str(caught.value)


def test_a_dump_and_a_payload_give_equal_tables():
    payload = """
*nat
:KUBE-SERVICES - [0:0]
:OLD - [0:0]
-A KUBE-SERVICES -m comment --comment "a/b:c cluster IP" -m tcp -p tcp -d 10.0.0.1 --dport 80 -j KUBE-SVC-X
-I KUBE-SERVICES -j RETURN
-I KUBE-SERVICES 2 -j ACCEPT
-N KUBE-SVC-X
-X OLD
COMMIT
"""
    dump = """# Generated by iptables-save v1.8.9
*nat
:KUBE-SERVICES - [3:180]
:KUBE-SVC-X - [0:0]
[1:60] -A KUBE-SERVICES -j RETURN
-A KUBE-SERVICES -j ACCEPT
-A KUBE-SERVICES -d 10.0.0.1/32 -p tcp -m comment --comment "a/b:c cluster IP" -m tcp --dport 80 -j KUBE-SVC-X
COMMIT
# Completed
"""
    assert parse_tables(payload.splitlines()) == parse_tables(dump.splitlines())


def test_a_chain_of_the_kernel_keeps_its_policy():
    tables = parse_tables("*filter\n:INPUT DROP [0:0]\n:MINE - [0:0]\nCOMMIT\n".splitlines())
    assert tables["filter"].chains == {"INPUT": Chain("INPUT", "DROP"), "MINE": Chain("MINE")}


def test_the_chains_of_the_kernel_need_no_declaration():
    """A payload that hangs a chain of its own into the kernel's does not declare those."""
    tables = parse_tables("*filter\n:X - [0:0]\n-I INPUT -j X\nCOMMIT\n".splitlines())
    assert tables == parse_tables(
        "*filter\n:INPUT ACCEPT [0:0]\n:X - [0:0]\n-A INPUT -j X\nCOMMIT\n".splitlines()
    )


def test_tables_print_to_text_that_reads_back():
    text = "*nat\n:PREROUTING ACCEPT [0:0]\n:X - [0:0]\n-A PREROUTING -p tcp -j X\n-A X -m tcp -p tcp -j RETURN\nCOMMIT\n"
    tables = parse_tables(text.splitlines())
    assert restore_text(tables.values()) == text.replace("-m tcp ", "")
    assert parse_tables(restore_text(tables.values()).splitlines()) == tables


BROKEN = [
    (["-A X -j Y"], "line 1: '-A X -j Y': it stands outside a table"),
    (["*nat", "", "-A X -j Y"], "line 3: '-A X -j Y': table nat has no chain X"),
    (["*nat", ":X"], "line 2: ':X': a chain is declared as"),
    (["*nat", "*filter"], "line 2: '*filter': table nat has no COMMIT"),
    (["*nat", ":X -"], "table nat: its COMMIT is missing"),
    (["*"], "line 1: '*': the name of the table is missing"),
    (["*nat", "nonsense"], "line 2: 'nonsense': not one of"),
    (["*nat", ":X -", "-A X -m"], "line 3: '-A X -m': -m needs a value"),
]


@pytest.mark.parametrize(("lines", "problem"), BROKEN)
def test_a_broken_dump_is_named_with_its_line(lines, problem):
    with pytest.raises(WireError) as caught:
        parse_tables(lines)
    assert str(caught.value).startswith(problem)


def read_or_refused(text: str) -> None:
    """Other people's dumps may hold anything; only one kind of error may come of it."""
    try:
        rule = parse_rule(f"-A C {text}")
    except WireError:
        return
    assert parse_rule(str(rule)) == rule


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text):
    read_or_refused(text)


WORDS = [
    "-s",
    "-d",
    "10.0.0.1",
    "10.0.0.0/8",
    "!",
    "-m",
    "tcp",
    "recent",
    "--name",
    "--set",
    "--dport",
    "80",
    "-p",
    "-j",
    "-g",
    '"a',
    'b"',
    "--comment",
    "comment",
    "set",
    "--match-set",
    "mark",
    "--mark",
    "0x1/0x2",
    "MARK",
    "--or-mark",
    "statistic",
    "--probability",
    "0.5",
    '""',
    "\\",
    '"\\""',
    "conntrack",
    "--ctstate",
]


@given(st.lists(st.sampled_from(WORDS), max_size=14))
def test_any_row_of_known_words_is_read_or_refused(words):
    read_or_refused(" ".join(words))


def test_a_match_without_a_name_is_refused():
    with pytest.raises(WireError, match="without a name"):
        parse_rule('-A C -m "" 10.0.0.1')
