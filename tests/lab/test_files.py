"""Kernel settings: written only when different, and refused with what to do about it."""

import os
import sys
from pathlib import Path

import pytest

from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.files import processors, raise_parameter, read_sysctl, set_oom_score, write_sysctl
from kubeproxy.wire.sysctl import ModuleParameter, OOMScore, Sysctl
from tests.lab.netns import namespace

LOCALNET = "net/ipv4/conf/all/route_localnet"

IMPORTS = """
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.files import write_sysctl
from kubeproxy.wire.sysctl import Sysctl
"""
# After the imports, because another user may not read where root keeps the project.
GIVE_UP = """
import os
os.setresuid(1, 1, 1)
"""
ATTEMPT = """
for value in ("0", "1"):
    try:
        print(write_sysctl(Sysctl("net/ipv4/conf/all/route_localnet", value)))
    except KernelError as error:
        print(error)
"""
READ_ONLY = 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"'


@pytest.fixture
def node():
    with namespace("node") as ns, ns.enter():
        yield ns


def test_a_setting_is_written_once(node):
    assert read_sysctl(LOCALNET) == "0"
    assert write_sysctl(Sysctl(LOCALNET, "1"))
    assert read_sysctl(LOCALNET) == "1"
    assert not write_sysctl(Sysctl(LOCALNET, "1"))


def test_namespaces_have_their_own(node):
    write_sysctl(Sysctl(LOCALNET, "1"))
    with namespace("other") as other:
        assert other.call(read_sysctl, LOCALNET) == "0"


def test_an_interface_may_have_a_dot_in_its_name(node):
    """So paths are spelled with slashes: net.ipv4.conf.eth0.7.forwarding could be read two ways."""
    node.run(["ip", "link", "add", "eth0.7", "type", "veth", "peer", "name", "far"])
    assert write_sysctl(Sysctl("net/ipv4/conf/eth0.7/route_localnet", "1"))


def test_what_the_kernel_does_not_have_reads_as_none(node):
    assert read_sysctl("net/ipv4/vs/conntrack_of_the_future") is None
    with pytest.raises(KernelError) as caught:
        write_sysctl(Sysctl("net/ipv4/vs/conntrack_of_the_future", "1"))
    assert str(caught.value) == (
        "sysctl net/ipv4/vs/conntrack_of_the_future=1: No such file or directory "
        "(this kernel has no such setting; the module that brings it may not be loaded)"
    )


def test_a_value_the_kernel_does_not_take_is_named(node):
    with pytest.raises(KernelError) as caught:
        write_sysctl(Sysctl(LOCALNET, "perhaps"))
    assert (
        str(caught.value)
        == f"sysctl {LOCALNET}=perhaps: Invalid argument (the kernel does not take this value)"
    )


@pytest.mark.parametrize("path", ["/etc/passwd", "net/../../../etc/passwd", ""])
def test_nothing_but_settings_is_written(path):
    with pytest.raises(ValueError, match="not a path below"):
        write_sysctl(Sysctl(path, "1"))


def test_a_read_only_container_is_told_so_but_may_keep_what_is_right(node):
    """Container runtimes mount /proc/sys read-only; a setting that is right already is no problem."""
    done = node.run(
        ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", sys.executable, "-c", IMPORTS + ATTEMPT]
    )
    assert done.stdout.splitlines() == [
        "False",
        (
            f"sysctl {LOCALNET}=1: Read-only file system "
            "(/proc/sys is read-only in this container: set it on the host, "
            "or mount the host's /proc/sys/net at /host/proc/sys/net)"
        ),
    ]


DOOR = """
mount -t tmpfs tmpfs /mnt && mkdir -p /mnt/proc/sys/net && mount --bind /proc/sys/net /mnt/proc/sys/net &&
mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"
"""


def test_a_container_that_is_given_the_hosts_settings_writes_there(node):
    """The one folder beside /proc is all the right it takes; the settings are those of the network namespace."""
    moved = ATTEMPT.replace(
        "for value", "import kubeproxy.kernel.files as files\nfiles._HOST = files.Path('/mnt')\nfor value"
    )
    done = node.run(["unshare", "--mount", "sh", "-c", DOOR, "sh", sys.executable, "-c", IMPORTS + moved])
    assert done.stdout.splitlines() == ["False", "True"]
    assert read_sysctl(LOCALNET) == "1"


def test_without_the_right_to_it_the_right_is_named(node):
    done = node.run([sys.executable, "-c", IMPORTS + GIVE_UP + ATTEMPT], check=False)
    if "setresuid" in done.stderr:
        pytest.skip("this user namespace has one user only")
    assert done.stdout.splitlines() == [
        "False",
        f"sysctl {LOCALNET}=1: Permission denied (CAP_NET_ADMIN is needed)",
    ]


PARAMETERS = Path("/sys/module/nf_conntrack/parameters")


def test_a_parameter_that_is_large_enough_stays(node):
    """The table of connections is the host's: a test must not change it."""
    if not PARAMETERS.exists():
        pytest.skip("nf_conntrack is not a module with parameters here")
    before = (PARAMETERS / "hashsize").read_text()
    assert not raise_parameter(ModuleParameter("nf_conntrack", "hashsize", 1))
    assert (PARAMETERS / "hashsize").read_text() == before


def test_a_module_that_is_not_there_is_told():
    with pytest.raises(KernelError) as caught:
        raise_parameter(ModuleParameter("nf_of_the_future", "hashsize", 1))
    assert str(caught.value) == (
        "/sys/module/nf_of_the_future/parameters/hashsize=1: No such file or directory "
        "(the module is not loaded, or /sys is not there)"
    )


SCORE = """
from kubeproxy.kernel.files import set_oom_score
from kubeproxy.wire.sysctl import OOMScore
set_oom_score(OOMScore(345))
print(open("/proc/self/oom_score_adj").read().strip())
"""


def test_the_score_of_a_process_is_its_own(node):
    before = Path("/proc/self/oom_score_adj").read_text()
    assert node.run([sys.executable, "-c", SCORE]).stdout == "345\n"
    assert Path("/proc/self/oom_score_adj").read_text() == before
    with pytest.raises(KernelError, match="oom_score_adj=1001: Invalid argument"):
        set_oom_score(OOMScore(1001))


def test_processors_are_those_of_the_host():
    assert 1 <= len(os.sched_getaffinity(0)) <= processors()
