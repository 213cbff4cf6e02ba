"""Other people's rules: what Docker, a CNI and the kubelet keep in the tables, and how to tell them from ours."""

import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.lab.netns import Namespace

TABLES = ("mangle", "nat", "filter")
PROGRAM = {"nft": "iptables-nft", "legacy": "iptables-legacy"}

#: chains kube-proxy answers for, in which tables; the one it shares with the kubelet is not among them
_OURS = {
    "nat": re.compile(
        r"KUBE-((SVC|SVL|SEP|EXT|FW)-\w{16}|SERVICES|NODEPORTS|POSTROUTING|MARK-MASQ|PROXY-CANARY)"
    ),
    "filter": re.compile(r"KUBE-(SERVICES|EXTERNAL-SERVICES|FORWARD|NODEPORTS|PROXY-FIREWALL|PROXY-CANARY)"),
    "mangle": re.compile(r"KUBE-PROXY-CANARY"),
}

#: before we come: these end up below our jumps
BEFORE = """\
*mangle
:KUBE-IPTABLES-HINT - [0:0]
:KUBE-KUBELET-CANARY - [0:0]
:cali-PREROUTING - [0:0]
-A PREROUTING -m comment --comment "cali:6gwbT8clXdHdC1b1" -j cali-PREROUTING
-A cali-PREROUTING -m comment --comment "cali:6BJqBjBC7crtA-7-" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A POSTROUTING -o docker0 -j MARK --set-xmark 0x10/0x10
COMMIT
*nat
:KUBE-KUBELET-CANARY - [0:0]
:DOCKER - [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
:CNI-HOSTPORT-MASQ - [0:0]
:CNI-DN-0123456789abcdef01234 - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER
-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ
-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE
-A DOCKER -i docker0 -j RETURN
-A DOCKER ! -i docker0 -p tcp -m tcp --dport 8081 -j DNAT --to-destination 172.17.0.2:80
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \\"net\\" id: \\"x\\"" -m multiport --dports 9000 -j CNI-DN-0123456789abcdef01234
-A CNI-DN-0123456789abcdef01234 -p tcp -m tcp --dport 9000 -j DNAT --to-destination 10.77.3.3:9000
-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE
COMMIT
*filter
:KUBE-KUBELET-CANARY - [0:0]
:KUBE-FIREWALL - [0:0]
:DOCKER-USER - [0:0]
:cali-FORWARD - [0:0]
:f2b-sshd - [0:0]
-A INPUT -j KUBE-FIREWALL
-A INPUT -p tcp -m multiport --dports 22 -j f2b-sshd
-A FORWARD -j DOCKER-USER
-A FORWARD -m comment --comment "cali:wUHhoiAYhphO9Mso" -j cali-FORWARD
-A FORWARD -i docker0 -o docker0 -j ACCEPT
-A OUTPUT -j KUBE-FIREWALL
-A DOCKER-USER -j RETURN
-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
-A f2b-sshd -s 203.0.113.7/32 -j REJECT --reject-with icmp-port-unreachable
-A f2b-sshd -j RETURN
-A cali-FORWARD -m mark --mark 0x10000/0x10000 -j ACCEPT
COMMIT
"""

#: while we are there: some go above our jumps, some below
DURING = """\
*mangle
-I PREROUTING -m comment --comment "on top" -j RETURN
COMMIT
*nat
:CNI-late - [0:0]
-I PREROUTING -m comment --comment "on top" -j CNI-late
-I POSTROUTING -s 10.88.0.0/16 -m comment --comment "name: \\"late\\"" -j CNI-late
-A OUTPUT -m comment --comment "at the end" -j CNI-late
-A CNI-late -d 10.88.0.0/16 -j ACCEPT
COMMIT
*filter
-I INPUT -p tcp -m comment --comment "on top" -m tcp --dport 10250 -j ACCEPT
-I FORWARD -s 10.88.0.0/16 -j ACCEPT
-A FORWARD -d 10.88.0.0/16 -j ACCEPT
-A OUTPUT -m comment --comment "at the end" -j ACCEPT
COMMIT
"""

#: adds to a chain of its own and below and above ours, in every table, until it is told to stop
_ADDING = """\
n=0
while kill -0 $PPID; do
  n=$((n+1))
  printf '%s\\n' '*mangle' "-A POSTROUTING -m comment --comment {label}-$n -j RETURN" COMMIT \\
    '*nat' "-A CNI-{label} -m comment --comment {label}-$n -j RETURN" \\
    "-I PREROUTING -m comment --comment {label}-$n -j CNI-{label}" \\
    "-A POSTROUTING -m comment --comment {label}-$n -j CNI-{label}" COMMIT \\
    '*filter' "-I FORWARD -m comment --comment {label}-$n -j ACCEPT" COMMIT |
  {program}-restore -w 30 --noflush || exit 1
  echo $n
  read -r -t 0.1 stop </dev/stdin && exit 0
done
"""


class Rules(NamedTuple):
    """The rules of each chain, in order, by table and chain."""

    ours: dict[tuple[str, str], list[str]]
    others: dict[tuple[str, str], list[str]]


def rules(saved: str) -> Rules:
    """A dump, divided: our chains and the jumps to them, and everything else, chains without rules too."""
    found = Rules({}, {})
    table = ""
    for line in saved.splitlines():
        if line.startswith("*"):
            table = line[1:]
            ours = _OURS[table]
        elif line.startswith(":"):
            chain, policy, _ = line[1:].split()
            mine = ours.fullmatch(chain)
            (found.ours if mine else found.others)[table, chain] = [] if policy == "-" else [policy]
        elif line.startswith("-A"):
            chain, rule = line[3:].split(" ", 1)
            target = shlex.split(rule)[-1]
            mine = ours.fullmatch(chain) or ours.fullmatch(target)
            (found.ours if mine else found.others).setdefault((table, chain), []).append(rule)
    return found


def saved(ns: Namespace, flavour: str) -> Rules:
    """What a namespace holds now."""
    program = PROGRAM[flavour]
    return rules("".join(ns.run([f"{program}-save", "-t", table]).stdout for table in TABLES))


def hints(ns: Namespace, flavour: str) -> None:
    """What the kubelet leaves, by which the flavour is chosen."""
    restore(ns, flavour, "*mangle\n:KUBE-IPTABLES-HINT - [0:0]\n:KUBE-KUBELET-CANARY - [0:0]\nCOMMIT\n")


def restore(ns: Namespace, flavour: str, payload: str) -> None:
    ns.run([f"{PROGRAM[flavour]}-restore", "-w", "30", "--noflush"], input=payload)


class Busybody:
    """Adds rules all the time; `added` is how many rounds were finished."""

    def __init__(self, child: subprocess.Popen[str], label: str) -> None:
        self._child, self._label = child, label
        self.added = 0

    def finish(self) -> None:
        """Let it end its round, and count all of them."""
        said, complaints = self._child.communicate("stop\n", timeout=60)
        assert self._child.returncode == 0, complaints
        self.added = int(said.split()[-1])

    def expected(self, before: dict[tuple[str, str], list[str]]) -> dict[tuple[str, str], list[str]]:
        """What others' rules must be now, if they were `before`: every one of them, in order."""
        after = {place: list(rules) for place, rules in before.items()}
        own = f"CNI-{self._label}"

        def say(target: str) -> list[str]:
            rounds = range(1, self.added + 1)
            return [f"-m comment --comment {self._label}-{n} -j {target}" for n in rounds]

        after["nat", own] = say("RETURN")
        after["mangle", "POSTROUTING"] += say("RETURN")
        after["nat", "POSTROUTING"] += say(own)
        for place, target in ((("nat", "PREROUTING"), own), (("filter", "FORWARD"), "ACCEPT")):
            policy, *rest = after[place]
            after[place] = [policy, *say(target)[::-1], *rest]
        return after


@contextmanager
def busybody(ns: Namespace, flavour: str, label: str) -> Iterator[Busybody]:
    """Somebody who adds rules all the time, until told to finish or until the block is left."""
    restore(ns, flavour, f"*nat\n:CNI-{label} - [0:0]\nCOMMIT\n")
    script = _ADDING.replace("{program}", PROGRAM[flavour]).replace("{label}", label)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = ns.popen(["bash", "-c", script], text=True, **pipes)
    somebody = Busybody(child, label)
    yield somebody
    if child.poll() is None:
        somebody.finish()


def duplicates(found: Rules) -> dict[tuple[str, str], dict[str, int]]:
    """Jumps of ours that stand more than once."""
    counts = {place: Counter(rules) for place, rules in found.ours.items()}
    return {
        place: twice for place, seen in counts.items() if (twice := {r: n for r, n in seen.items() if n > 1})
    }
