"""All hands on the real kernel, both flavours: in order, up to the first refusal; and what is read back."""

import errno

import pytest

from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.hands import Hands
from kubeproxy.kernel.memory import Memory
from kubeproxy.kernel.processes import Flavour, Programs
from kubeproxy.wire.conntrack import DeleteFlows
from kubeproxy.wire.netlink import AF_INET
from kubeproxy.wire.nfacct import Counter, EnsureCounter
from kubeproxy.wire.restore import Restore, digest
from kubeproxy.wire.sysctl import Sysctl
from tests.kernel.refused import prepare
from tests.lab.netns import namespace

LOCALNET = "net/ipv4/conf/all/route_localnet"
UDP = ["--protonum", "udp", "--timeout", "100"]
DIALLED = ["--src", "192.0.2.1", "--dst", "172.30.0.10", "--sport", "4711", "--dport", "53"]
ANSWERED = [
    "--reply-src",
    "10.77.1.5",
    "--reply-dst",
    "192.0.2.1",
    "--reply-port-src",
    "53",
    "--reply-port-dst",
    "4711",
]


@pytest.fixture(params=list(Flavour))
def hands(request):
    with namespace("node") as ns, ns.enter():
        found = Hands(Programs(request.param, f"-{request.param}"))
        found.node = ns
        yield found


def nat(*lines: str) -> Restore:
    return Restore(False, ("".join(f"{line}\n" for line in ("*nat", *lines, "COMMIT")).encode(),))


def test_every_kind_of_operation_finds_its_hand(hands):
    hands.node.run(["conntrack", "-I", *UDP, *DIALLED, *ANSWERED])
    flows = hands.udp_flows(AF_INET)
    assert [flow.destination for flow in flows] == ["172.30.0.10"]
    assert hands.counter("seen") is None
    hands.commit([Sysctl(LOCALNET, "1"), EnsureCounter("seen"), nat(":KUBE-NEW - [0:0]"), DeleteFlows(flows)])
    assert hands.sysctl(LOCALNET) == "1"
    assert hands.counter("seen") == Counter("seen", 0, 0)
    assert hands.chain_exists("nat", "KUBE-NEW", ipv6=False)
    assert hands.udp_flows(AF_INET) == ()


def test_the_first_refusal_ends_it(hands):
    """What came before stays: operations of one list are not one transaction."""
    ops = [nat(":KUBE-ONE - [0:0]"), Sysctl("net/of/the/future", "1"), nat(":KUBE-TWO - [0:0]")]
    with pytest.raises(KernelError) as caught:
        hands.commit(ops)
    assert caught.value.errno == errno.ENOENT
    assert hands.chain_exists("nat", "KUBE-ONE", ipv6=False)
    assert not hands.chain_exists("nat", "KUBE-TWO", ipv6=False)


def test_what_is_read_can_be_recognised_without_its_text(hands):
    """The digest is of the rules as iptables-save spells them, whichever flavour prints them."""
    rule = "-A KUBE-NEW -m comment --comment shop/cart -m tcp -p tcp -d 172.30.0.10 --dport 80 -j RETURN"
    hands.commit([nat(":KUBE-NEW - [0:0]", rule, "-I OUTPUT -j KUBE-NEW")])
    saved = hands.read(ipv6=False)
    assert saved.chains == {
        ("nat", "KUBE-NEW"): digest(
            [
                b'-A KUBE-NEW -d 172.30.0.10/32 -p tcp -m comment --comment "shop/cart" -m tcp --dport 80 -j RETURN'
            ]
        )
    }
    assert saved.builtin["nat", "OUTPUT"] == (b"-A OUTPUT -j KUBE-NEW",)
    assert saved.rules("nat") == 2
    assert hands.read(ipv6=True).chains == {}


def test_both_kernels_are_read_alike(hands):
    memory = Memory(hands.programs.flavour)
    for kernel in (hands, memory):
        prepare(kernel)
    real, remembered = hands.read(ipv6=False), memory.read(ipv6=False)
    assert (real.chains, real.builtin, real.policies) == (
        remembered.chains,
        remembered.builtin,
        remembered.policies,
    )


def test_addresses_and_counters_are_told(hands):
    assert {"127.0.0.1", "::1"} <= {address.address for address in hands.addresses()}
    assert hands.counters_available()
