"""iptables' programs as children: what they are given, what they answer, and that none is left over."""

import fcntl
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeproxy.kernel.errors import Busy, KernelError, Unsure
from kubeproxy.kernel.processes import Flavour, Programs
from kubeproxy.wire.restore import Restore, SavedTables
from tests.lab.netns import namespace

NEW = b"*nat\n:KUBE-NEW - [0:0]\nCOMMIT\n"


@pytest.fixture(params=list(Flavour))
def programs(request) -> Iterator[Programs]:
    with namespace() as ns, ns.enter():
        yield Programs(request.param, f"-{request.param}")


@pytest.fixture
def legacy() -> Iterator[Programs]:
    with namespace() as ns, ns.enter():
        yield Programs(Flavour.LEGACY, "-legacy")


@pytest.fixture
def lock(tmp_path, monkeypatch) -> Iterator[int]:
    """The legacy programs' lock, held by somebody else."""
    path = tmp_path / "xtables.lock"
    monkeypatch.setenv("XTABLES_LOCKFILE", str(path))
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    yield handle
    os.close(handle)


def exists(programs: Programs, chain: str = "KUBE-NEW") -> bool:
    return programs.chain_exists(False, "nat", chain)


def ends(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_a_payload_is_made_while_it_is_sent(programs):
    """Thousands of rules go through without ever being together in memory."""
    made = []

    def payload() -> Iterator[bytes]:
        yield b"*nat\n:KUBE-MANY - [0:0]\n"
        for number in range(50):
            made.append(number)
            yield b"-A KUBE-MANY -j RETURN\n" * 20
        yield b"COMMIT\n"

    programs.restore(Restore(False, payload()))
    assert made == list(range(50))
    saved = SavedTables.read(programs.save(False, ["nat"]))
    assert saved.rules("nat") == 1000


def test_a_program_that_refuses_early_is_not_fed_for_ever(programs):
    """The rest of the payload, here without end, is not made when nobody reads it."""

    def payload() -> Iterator[bytes]:
        yield b"*nope\n"
        while True:
            yield b"-A KUBE-NOPE -j RETURN\n" * 1000

    with pytest.raises(KernelError) as caught:
        programs.restore(Restore(False, payload()))
    assert (caught.value.thing, caught.value.line) == (programs.name(False, "-restore"), 1)


def test_half_a_payload_is_never_taken_for_a_whole_one(programs):
    """What goes wrong while the text is made must not leave the first tables changed by surprise."""

    def payload() -> Iterator[bytes]:
        yield NEW
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        programs.restore(Restore(False, payload()))
    assert not exists(programs)
    assert programs.running == set()


def test_a_payload_can_be_sent_again(programs):
    op = Restore(False, (NEW,))
    programs.restore(op)
    programs.restore(op)
    assert exists(programs)


def test_only_the_table_that_was_asked_for(programs):
    other = b"*filter\n:KUBE-NEW - [0:0]\nCOMMIT\n"
    programs.restore(Restore(False, (other, NEW), table="nat"))
    assert exists(programs)
    assert not programs.chain_exists(False, "filter", "KUBE-NEW")


def test_counters_are_set_only_where_that_is_wished(programs):
    for packets, wished in ((b"[1:2]", True), (b"[3:4]", False)):
        programs.restore(Restore(False, (b"*nat\n:OUTPUT ACCEPT %b\nCOMMIT\n" % packets,), counters=wished))
        line = next(line for line in programs.save(False, ["nat"]) if line.startswith(b":OUTPUT"))
        assert line.startswith(b":OUTPUT ACCEPT [1:2]") == wished


def test_a_killed_program_leaves_doubt(programs):
    """It may have committed before it died: that is not a refusal, and only reading can tell."""

    def payload() -> Iterator[bytes]:
        (pid,) = programs.running
        os.kill(pid, signal.SIGKILL)
        yield NEW * 10000

    with pytest.raises(Unsure, match=r"was killed \(SIGKILL\)"):
        programs.restore(Restore(False, payload()))
    assert not exists(programs)


def test_what_is_refused_for_a_moment_is_told_apart(legacy, lock):
    """Five seconds are waited for the lock, then it is somebody else's turn to decide."""
    with pytest.raises(Busy, match="currently holding the xtables lock"):
        legacy.restore(Restore(False, (NEW,)))


def test_a_lock_that_is_given_back_is_waited_for(legacy, lock):
    """The child stands before the lock; it goes on when the other one is done."""
    name = str(Path(f"/proc/self/fd/{lock}").readlink())
    over = threading.Event()

    def release_when_wanted() -> None:
        while not over.is_set() and not any(name in opened(pid) for pid in list(legacy.running)):
            pass
        fcntl.flock(lock, fcntl.LOCK_UN)

    other = threading.Thread(target=release_when_wanted)
    other.start()
    try:
        legacy.restore(Restore(False, (NEW,)))
    finally:
        over.set()
        other.join()
    assert exists(legacy)


def opened(pid: int) -> list[str]:
    try:
        return [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return []


def test_a_missing_program_is_named_with_its_package():
    with pytest.raises(KernelError) as caught:
        Programs(Flavour.NFT, "-of-the-future").restore(Restore(True, (NEW,)))
    assert str(caught.value) == (
        "ip6tables-of-the-future-restore: is not installed (install the package iptables)"
    )


def test_our_children_are_known_while_they_work_and_a_while_after(programs):
    """Who listens to the kernel must know its own from a stranger, also when the news comes late."""
    heard = []
    programs.tell = heard.append
    at_work = []

    def payload() -> Iterator[bytes]:
        at_work.extend(programs.running)
        yield NEW

    programs.restore(Restore(False, payload()))
    assert len(at_work) == 1
    assert programs.running == set()
    assert programs.children >= set(at_work)
    assert heard == [tuple(at_work), ()]
    assert ends(at_work[0])


def test_numbers_of_children_are_forgotten_in_the_end(programs):
    """They are given again, and a stranger with an old number of ours must be heard."""
    for pid in range(1, 1001):
        programs.started(pid)
        programs.ended(pid)
    assert programs.children == set(range(745, 1001))


def test_a_dump_that_nobody_reads_to_its_end_leaves_no_child(programs):
    lines = programs.save(False, ["nat", "filter"])
    next(lines)
    (pid,) = programs.running
    lines.close()
    assert ends(pid)
    assert programs.running == set()


def test_a_dump_ends_only_when_the_program_says_so(programs):
    with pytest.raises(KernelError, match="nope"):
        list(programs.save(False, ["nope"]))


def test_other_peoples_comments_do_not_break_lines(programs):
    """A carriage return in a comment is no end of a line; what follows it must not be taken for a chain."""
    rule = b'-A OUTPUT -m comment --comment "odd\r:KUBE-FAKE - [0:0]" -j RETURN\n'
    programs.restore(Restore(False, (b"*nat\n" + rule + b"COMMIT\n",)))
    assert rule in list(programs.save(False, ["nat"]))


def test_both_families_have_tables_and_the_program_a_version(programs):
    assert programs.usable(False)
    assert programs.usable(True)
    assert programs.version() >= (1, 8)
    assert programs.supports_random_fully


def test_words_are_the_programs_own_in_english(programs, monkeypatch):
    """Whatever language the operator speaks: refusals are read by us as well."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    with pytest.raises(KernelError) as caught:
        programs.restore(Restore(False, (b"*nat\n-A KUBE-NOPE -j RETURN\nCOMMIT\n",)))
    assert caught.value.line == 2


POWERLESS = """
import sys
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.processes import Flavour, Programs
from kubeproxy.wire.restore import Restore
try:
    Programs(Flavour.NFT, "-nft").restore(Restore(False, (b"*nat\\n:KUBE-NEW - [0:0]\\nCOMMIT\\n",)))
except KernelError as error:
    print(error)
"""


LEGACY_TABLE = """
import sys
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.processes import Flavour, Programs
try:
    Programs(Flavour.LEGACY, "-legacy").chain_exists(False, "filter", "FORWARD")
except KernelError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("held", "named"),
    [
        ("-all", "CAP_NET_ADMIN and CAP_NET_RAW are needed"),
        ("-all,+net_admin", "CAP_NET_RAW is needed"),
        ("-all,+net_raw", "CAP_NET_ADMIN is needed"),
    ],
)
def test_the_legacy_programs_need_a_second_right_and_the_missing_one_is_named(held, named):
    with namespace() as ns:
        done = ns.run(["setpriv", f"--bounding-set={held}", sys.executable, "-c", LEGACY_TABLE])
    assert done.stdout.startswith("iptables-legacy: ")
    assert done.stdout.endswith(f" ({named})\n")


def test_without_the_right_to_it_the_right_is_named():
    """An operator gets the name of the capability, not only a number."""
    with namespace() as ns:
        done = ns.run(["setpriv", "--bounding-set=-all", sys.executable, "-c", POWERLESS])
    assert done.stdout == (
        "iptables-nft-restore: Could not fetch rule set generation id: "
        "Permission denied (you must be root) (CAP_NET_ADMIN is needed)\n"
    )
