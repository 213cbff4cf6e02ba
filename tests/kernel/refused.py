"""What is done to a kernel, and what it answers: the same table for the one in memory and the real one."""

from typing import NamedTuple

from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.processes import Flavour
from kubeproxy.wire.nfacct import EnsureCounter
from kubeproxy.wire.restore import Restore

#: what stands there before each case
GIVEN = """\
*mangle
:KUBE-PROXY-CANARY - [0:0]
COMMIT
*filter
:KUBE-FORWARD - [0:0]
-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x00004000/0x00004000 -j ACCEPT
-A FORWARD -j KUBE-FORWARD
COMMIT
*nat
:KUBE-EMPTY - [0:0]
:KUBE-USED - [0:0]
:KUBE-SVC - [0:0]
:DOCKER - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A KUBE-SVC -m comment --comment shop/cart -m tcp -p tcp -d 172.30.0.10 --dport 80 -j KUBE-USED
-A KUBE-SVC -j RETURN
-A DOCKER -i docker0 -j RETURN
COMMIT
"""
COUNTER = "seen"


class Said(NamedTuple):
    """The line that is named and the words; words that are not ours to know are left out."""

    line: int
    words: str | None = None


NO_NAME = "line {} failed: No chain/target/match by that name."


def missing(line: int) -> Said:
    return Said(line, NO_NAME.format(line))


def bare(line: int) -> Said:
    return Said(line, f"line {line} failed")


class Case(NamedTuple):
    """A payload and each flavour's answer: None is yes."""

    name: str
    payload: str
    nft: Said | None = None
    legacy: Said | None = None

    def said(self, flavour: Flavour) -> Said | None:
        return self.nft if flavour is Flavour.NFT else self.legacy


def nat(*lines: str) -> str:
    return "".join(f"{line}\n" for line in ("*nat", *lines, "COMMIT"))


def filtering(*lines: str) -> str:
    return nat(*lines).replace("*nat", "*filter", 1)


NEW = ":KUBE-NEW - [0:0]"
MISSING_CHAIN = "Chain 'KUBE-NOPE' does not exist"
MISSING_TARGET = "Couldn't load target `KUBE-NOPE':No such file or directory"
NO_OBJECT = "RULE_APPEND failed (No such file or directory): rule in chain"
COMMIT_2 = Said(2, "line 2 failed")

ACCEPTED = (
    Case("a chain is created", nat(NEW)),
    Case("a chain is created and filled", nat(NEW, "-A KUBE-NEW -j KUBE-EMPTY", "-A KUBE-NEW -j RETURN")),
    Case("a declared chain is emptied", nat(":KUBE-SVC - [0:0]")),
    Case("a chain declared twice is emptied twice", nat(NEW, "-A KUBE-NEW -j RETURN", NEW)),
    Case("declaring one of the kernel's own sets its policy only", nat(":PREROUTING ACCEPT [5:7]")),
    Case("declaring one of the kernel's own without policy does nothing", nat(":PREROUTING - [0:0]")),
    Case("a policy is set", filtering("-P FORWARD DROP")),
    Case("blank lines and comments are nothing", "# made by hand\n\n" + nat("# more", "", NEW)),
    Case("nothing at all", ""),
    Case("what is declared and deleted is gone", nat(":KUBE-EMPTY - [0:0]", "-X KUBE-EMPTY")),
    Case(
        "a used chain goes after its last user",
        nat(":KUBE-USED - [0:0]", ":KUBE-SVC - [0:0]", "-X KUBE-USED"),
    ),
    Case("both go at once", nat(":KUBE-USED - [0:0]", ":KUBE-SVC - [0:0]", "-X KUBE-SVC", "-X KUBE-USED")),
    Case("an inserted rule is the first", nat("-I PREROUTING -j KUBE-SVC", "-I KUBE-SVC 2 -j KUBE-EMPTY")),
    Case("a rule is deleted by its words", nat("-D KUBE-SVC -j RETURN")),
    Case(
        "it is found however it is spelled",
        nat(
            "-D KUBE-SVC -p tcp -d 172.30.0.10/32 -m comment --comment shop/cart -m tcp --dport 80 -j KUBE-USED"
        ),
    ),
    Case("a rule is deleted by its number", nat("-D KUBE-SVC 2")),
    Case("one chain is flushed", nat("-F KUBE-SVC")),
    Case("all chains are flushed", nat("-F")),
    Case("a chain is made", nat("-N KUBE-NEW", "-A KUBE-SVC -j KUBE-NEW")),
    Case("a counter that exists", filtering(NEW, f"-A KUBE-NEW -m nfacct --nfacct-name {COUNTER} -j DROP")),
    Case("a rule without target", nat(NEW, '-A KUBE-NEW -m comment --comment "only said"', "-A KUBE-NEW")),
    Case("a loop that nothing leads into", nat(NEW, "-A KUBE-NEW -j KUBE-NEW")),
    Case(
        "every rule we have, IPv4",
        nat(
            NEW,
            "-A KUBE-NEW ! -s 10.0.0.0/8 -j RETURN",
            "-A KUBE-NEW -i cbr0 -j RETURN",
            "-A KUBE-NEW ! -i eth+ -j RETURN",
            "-A KUBE-NEW -m comment --comment shop/cart:http -m udp -p udp -d 172.30.0.10 --dport 53 ! -s 10.0.0.0/8 -j KUBE-EMPTY",
            '-A KUBE-NEW -m comment --comment "a -> b" -m statistic --mode random --probability 0.3333333333 -j KUBE-EMPTY',
            "-A KUBE-NEW -m recent --name KUBE-SEP-7M3DADPBHW33G7YW --rcheck --seconds 10800 --reap -j KUBE-EMPTY",
            "-A KUBE-NEW -m recent --name KUBE-SEP-7M3DADPBHW33G7YW --set -m sctp -p sctp -j DNAT --to-destination 10.1.4.31:8000",
            "-A KUBE-NEW -m mark ! --mark 0x00004000/0x00004000 -j RETURN",
            "-A KUBE-NEW -j MARK --xor-mark 0x00004000",
            "-A KUBE-NEW -j MARK --or-mark 0x80000000",
            "-A KUBE-NEW -m addrtype --dst-type LOCAL ! -d 127.0.0.0/8 -j KUBE-EMPTY",
            '-A POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully',
        )
        + filtering(
            NEW,
            "-A KUBE-NEW -m conntrack --ctstate INVALID -j DROP",
            "-A KUBE-NEW -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
            '-A KUBE-NEW -m comment --comment "shop/cart:http has no endpoints" -m tcp -p tcp -d 172.30.0.10 --dport 80 -j REJECT',
            "-A INPUT -m conntrack --ctstate NEW -j KUBE-NEW",
        ),
    ),
)

REFUSED = (
    Case(
        "a jump to a chain that is not there",
        nat(NEW, "-A KUBE-NEW -j KUBE-NOPE", "-A KUBE-NEW -j RETURN"),
        Said(5, MISSING_CHAIN),
        Said(3, MISSING_TARGET),
    ),
    Case(
        "a jump to a chain that is declared only later",
        nat(NEW, "-A KUBE-NEW -j KUBE-NOPE", ":KUBE-NOPE - [0:0]"),
        Said(5, MISSING_CHAIN),
        Said(3, MISSING_TARGET),
    ),
    Case("a rule for a chain that is not there", nat("-A KUBE-NOPE -j RETURN"), missing(2), bare(2)),
    Case(
        "a rule for a chain that just went",
        nat("-X KUBE-EMPTY", "-A KUBE-EMPTY -j RETURN"),
        missing(3),
        bare(3),
    ),
    Case("deleting a chain that is not there", nat(NEW, "-X KUBE-NOPE"), missing(3), bare(3)),
    Case("flushing a chain that is not there", nat("-F KUBE-NOPE"), missing(2), bare(2)),
    Case(
        "deleting a chain with rules",
        nat(NEW, "-X KUBE-SVC"),
        Said(3, "line 3: CHAIN_DEL failed (Device or resource busy): chain KUBE-SVC"),
        bare(3),
    ),
    Case(
        "deleting a chain that another leads into",
        nat(":KUBE-USED - [0:0]", "-X KUBE-USED"),
        Said(3, "line 3: CHAIN_DEL failed (Device or resource busy): chain KUBE-USED"),
        bare(3),
    ),
    Case(
        "deleting a chain before its last user is emptied",
        nat("-X KUBE-USED", ":KUBE-SVC - [0:0]"),
        Said(2, "line 2: CHAIN_DEL failed (Device or resource busy): chain KUBE-USED"),
        bare(2),
    ),
    Case(
        "deleting a rule that is not there",
        nat("-D KUBE-SVC -j ACCEPT"),
        Said(2, "line 2 failed: Bad rule (does a matching rule exist in that chain?)."),
        bare(2),
    ),
    Case(
        "deleting the rule behind the last",
        nat("-D KUBE-SVC 3"),
        Said(2, "line 2 failed: Index of deletion too big."),
        bare(2),
    ),
    Case(
        "inserting behind the end",
        nat("-I KUBE-SVC 4 -j RETURN"),
        Said(2, "line 2 failed: Index of insertion too big."),
        bare(2),
    ),
    Case(
        "making a chain that is there",
        nat("-N KUBE-SVC"),
        Said(2, "line 2 failed: Chain already exists."),
        bare(2),
    ),
    Case(
        "a table nobody has",
        "*nope\nCOMMIT\n",
        Said(1, "line 1 table name 'nope' invalid"),
        Said(1, "unable to initialize table 'nope'"),
    ),
    Case("words outside a table", "-A KUBE-SVC -j RETURN\n", bare(1), bare(1)),
    Case(
        "a payload that breaks off",
        "*nat\n:KUBE-NEW - [0:0]\n",
        Said(3, "COMMIT expected at line 3"),
        Said(3, "COMMIT expected at line 3"),
    ),
    Case("an option nobody knows", nat(NEW, "-A KUBE-NEW --frobnicate"), Said(3), Said(3)),
    Case(
        "a command nobody knows",
        nat("-Q KUBE-SVC"),
        Said(2, 'unknown option "-Q"'),
        Said(2, 'unknown option "-Q"'),
    ),
    Case("prose", nat("hello world"), Said(2, "Bad argument `hello'"), Said(2, "Bad argument `hello'")),
    Case(
        "a match nobody has",
        nat("-A KUBE-SVC -m crystalball -j RETURN"),
        Said(2, "Couldn't load match `crystalball':No such file or directory"),
        Said(2, "Couldn't load match `crystalball':No such file or directory"),
    ),
    Case("an address that is none", nat("-A KUBE-SVC -d 1.2.3.4.5 -j RETURN"), Said(2), Said(2)),
    Case("a policy that is none", nat(":PREROUTING SOMETIMES [0:0]"), Said(2), Said(2)),
    Case("a declaration without policy", nat(":PREROUTING"), Said(2), Said(2)),
    Case(
        "a policy for a chain of ours",
        nat(":KUBE-NEW ACCEPT [0:0]"),
        None,
        Said(2, "Can't set policy `ACCEPT' on `KUBE-NEW' line 2: Bad built-in chain name"),
    ),
    Case("a name that is too long", nat(f":KUBE-{'X' * 24} - [0:0]"), Said(2), Said(2)),
    Case("no rule number 0", nat("-I KUBE-SVC 0 -j RETURN"), Said(2), Said(2)),
    Case("DROP in nat", nat("-A KUBE-SVC -j DROP"), Said(2), Said(2)),
    Case(
        "REJECT in nat",
        nat("-A KUBE-SVC -j REJECT"),
        Said(2, "line 2: RULE_APPEND failed (Invalid argument): rule in chain KUBE-SVC"),
        bare(3),
    ),
    Case(
        "MASQUERADE in filter",
        filtering(NEW, "-I OUTPUT -j MASQUERADE"),
        Said(3, "line 3: RULE_INSERT failed (Invalid argument): rule in chain OUTPUT"),
        bare(4),
    ),
    Case(
        "a counter that does not exist",
        filtering(NEW, "-A KUBE-NEW -m nfacct --nfacct-name unseen -j DROP", "-A KUBE-NEW -j DROP"),
        Said(3, f"line 3: {NO_OBJECT} KUBE-NEW"),
        bare(5),
    ),
    Case(
        "a jump into one of the kernel's own",
        nat(NEW, "-A KUBE-NEW -j POSTROUTING"),
        Said(3, f"line 3: {NO_OBJECT} KUBE-NEW"),
        bare(3),
    ),
    Case(
        "two mistakes: reading comes before looking at chains",
        nat("-A KUBE-NOPE -j RETURN", "-A KUBE-SVC --frobnicate"),
        Said(3),
        bare(2),
    ),
    Case(
        "two mistakes: the first one that is looked at",
        nat("-A KUBE-SVC -j KUBE-NOPE", "-A KUBE-NOPE -j RETURN"),
        Said(4, MISSING_CHAIN),
        Said(2, MISSING_TARGET),
    ),
    Case(
        "two mistakes: the kernel is asked last",
        nat("-X KUBE-USED", "-A KUBE-NOPE -j RETURN"),
        missing(3),
        bare(2),
    ),
    Case(
        "two tables: what the first COMMIT took stays",
        filtering(NEW) + nat(NEW, "-A KUBE-NOPE -j RETURN"),
        missing(6),
        bare(6),
    ),
)
CASES = ACCEPTED + REFUSED

#: the same rules where addresses are longer
IPV6 = Case(
    "every rule we have, IPv6",
    nat(
        NEW,
        "-A KUBE-NEW -m comment --comment shop/cart:http -m tcp -p tcp -d fd00:10:30::a --dport 80 ! -s fd00:10::/64 -j RETURN",
        "-A KUBE-NEW -m recent --name KUBE-SEP-7M3DADPBHW33G7YW --rcheck --seconds 10800 --reap -j RETURN",
        "-A KUBE-NEW -m tcp -p tcp -j DNAT --to-destination [fd00:10::5]:8080",
        "-A KUBE-NEW -m addrtype --dst-type LOCAL ! -d ::1/128 -j RETURN",
    )
    + filtering(NEW, "-A KUBE-NEW -s fd00::1 -m tcp -p tcp -j REJECT"),
)


def answer(kernel, payload: str, *, ipv6: bool = False) -> Said | None:
    """What a kernel says to a payload."""
    try:
        kernel.commit([Restore(ipv6, (payload.encode(),))])
    except KernelError as error:
        return Said(error.line, error.problem)
    return None


def prepare(kernel) -> None:
    kernel.commit([EnsureCounter(COUNTER), Restore(False, (GIVEN.encode(),))])


def agrees(found: Said | None, wanted: Said | None) -> bool:
    """Whether it is what was wanted, as far as it is known."""
    if found is None or wanted is None:
        return found is wanted
    return found.line == wanted.line and wanted.words in (None, found.words)
