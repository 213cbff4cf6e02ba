"""Somebody changes our rules under the running daemon: it is noticed, named where the kernel names it, repaired."""

import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubeproxy.backends.iptables.names import endpoint_hashes, port_hash
from kubeproxy.model.identity import Family, PortName, Protocol
from kubeproxy.runtime.tablesizes import BURST
from tests.lab.daemon import CONFIG, Daemon, daemon, until
from tests.lab.foreign import PROGRAM, Rules, hints, restore, saved
from tests.lab.netns import Namespace, namespace
from tests.lab.shops import NAMESPACE, write_shops

S0 = PortName(NAMESPACE, "s0", "http", Protocol.TCP, Family.IPV4)
SVC = f"KUBE-SVC-{port_hash(S0)}"
SEP = f"KUBE-SEP-{endpoint_hashes(S0, ['10.77.0.0:8080'])[0]}"
FLAVOURS = ("nft", "legacy")

EMPTY = "".join(f"*{table}\nCOMMIT\n" for table in ("filter", "nat", "mangle"))
DELETED_CHAIN = f"*nat\n:{SVC} - [0:0]\n:{SEP} - [0:0]\n-X {SEP}\nCOMMIT\n"
FLUSH_TABLE, FLUSH_CHAIN, NO_JUMP = "-t nat -F", "-t nat -F KUBE-SERVICES", "-t nat -D PREROUTING 1"
#: what somebody does, three things for one daemon; a word is arguments for iptables, lines are a payload
ACTS = {
    "rules": (FLUSH_TABLE, FLUSH_CHAIN, DELETED_CHAIN),
    "jumps": (NO_JUMP, "-t filter -F FORWARD", "-t filter -F"),
    "everything": ("-t mangle -X KUBE-PROXY-CANARY", EMPTY),
}


@contextmanager
def node(
    folder: Path, flavour: str, count: int = 8, endpoints: int = 3, *words: str
) -> Iterator[tuple[Namespace, Daemon]]:
    """A node whose tables are of this flavour, and the daemon on it, synced."""
    manifests = write_shops(folder / "manifests", count, endpoints)
    with namespace() as ns:
        hints(ns, flavour)
        with daemon(ns, manifests, CONFIG, *words) as running:
            running.wait_synced()
            yield ns, running


def act(ns: Namespace, flavour: str, what: str) -> None:
    program = PROGRAM[flavour]
    if what == EMPTY:
        ns.run([f"{program}-restore", "-w", "30"], input=what)
    elif what.startswith("*"):
        restore(ns, flavour, what)
    else:
        ns.run([program, "-w", "30", *shlex.split(what)])


def repairs(running: Daemon) -> float:
    return running.metrics().get('kubeproxy_drift_repairs_total{ip_family="IPv4"}', 0.0)


def sorted_jumps(found: Rules) -> Rules:
    """A jump that was made again is at the head of its chain: nobody promised its place among our own."""
    builtin = ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")
    ours = {
        place: sorted(rules) if place[1] in builtin else rules for place, rules in found.ours.items() if rules
    }
    return Rules(ours, found.others)


@pytest.mark.parametrize("acts", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_whatever_somebody_takes_away_is_put_back(tmp_path, flavour, acts):
    with node(tmp_path, flavour) as (ns, running):
        before = sorted_jumps(saved(ns, flavour)).ours
        for number, what in enumerate(acts, 1):
            act(ns, flavour, what)
            until(lambda n=number: repairs(running) >= n, f"repaired after {what}:\n{running.log}")
            until(
                lambda: sorted_jumps(saved(ns, flavour)).ours == before, f"whole after {what}:\n{running.log}"
            )
        assert repairs(running) == len(acts), running.log
        assert running.log.count("Repaired what somebody changed") == len(acts)


def test_who_did_it_and_what_is_told(tmp_path):
    """Where the kernel announces changes, it names the process."""
    with node(tmp_path, "nft") as (ns, running):
        act(ns, "nft", FLUSH_CHAIN)
        line = running.said("Somebody changed our rules; repairing them")
        assert 'process="iptables-nft" pid=' in line
        assert 'touched=["9 rules removed, table nat, chain KUBE-SERVICES"]' in line
        act(ns, "nft", NO_JUMP)
        running.said('touched=["1 rule removed, table nat, chain PREROUTING"]')
        ns.run(["nft", "flush", "ruleset"])
        assert re.search(r'process="nft" pid=\d+ .*table nat', running.said('process="nft"'))


def full_syncs(running: Daemon) -> float:
    """How often the daemon has read what the kernel holds."""
    return running.metrics()['kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"}']


def processor_seconds(running: Daemon) -> float:
    """What the daemon and the programs it ran have used."""
    fields = Path(f"/proc/{running.child.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / 100


OWN_BUSINESS = (
    "-N CNI-x{n}",
    "-A PREROUTING -m comment --comment {n} -j CNI-x{n}",
    "-I POSTROUTING -m comment --comment {n} -j CNI-x{n}",
    "-D PREROUTING -m comment --comment {n} -j CNI-x{n}",
    "-D POSTROUTING 1",
    "-X CNI-x{n}",
)


def test_others_may_add_and_remove_their_own_all_day_without_a_reading(tmp_path):
    """In the built-in chains too, above and below our jumps; and the kubelet's chains are the kubelet's."""
    with node(tmp_path, "nft") as (ns, running):
        read, used = full_syncs(running), processor_seconds(running)
        for n in range(25):
            for words in OWN_BUSINESS:
                act(ns, "nft", f"-t nat {words.format(n=n)}")
        for words in ("-t nat -N KUBE-KUBELET-CANARY", "-t mangle -X KUBE-KUBELET-CANARY"):
            act(ns, "nft", words)
        act(ns, "nft", "-t filter -A KUBE-FIREWALL -j RETURN")
        # What is heard is heard in order: when this is noticed, all of the above was.
        act(ns, "nft", FLUSH_CHAIN)
        until(lambda: repairs(running) == 1, f"repaired:\n{running.log}")
        assert full_syncs(running) == read + 1
        assert running.log.count("Somebody changed our rules") == 1
        assert processor_seconds(running) - used < 1.0


def test_where_tables_only_tell_their_size_others_cause_few_readings(tmp_path):
    """A fiftieth of a processor goes into looking whether ours still stand; asking for sizes is next to nothing."""
    with node(tmp_path, "legacy", 100, 5, "--v=2") as (ns, running):
        rounds = 0

        def readings() -> int:
            nonlocal rounds
            rounds += 1
            act(ns, "legacy", f"-t nat -A POSTROUTING -m comment --comment {rounds} -j RETURN")
            return running.log.count("looking whether our rules stand")

        # The first few come at once, which is what one wants when somebody does something for once.
        until(lambda: readings() > BURST, "has read a few times")
        began, used = time.monotonic(), processor_seconds(running)
        until(lambda: readings() > BURST + 3, "has read three times more")
        share = (processor_seconds(running) - used) / (time.monotonic() - began)
        assert share < 0.06, f"{share:.1%} of a processor while {rounds} rules were added"
        assert repairs(running) == 0, running.log
        assert running.log.count("Repaired what somebody changed") == 0
