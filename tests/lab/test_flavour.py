"""Which kind of tables is chosen, from what others left on the node."""

import subprocess

import pytest

from kubeproxy.kernel import flavour
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.flavour import choose
from kubeproxy.kernel.processes import Flavour
from kubeproxy.kernel.tableinfo import legacy_tables
from kubeproxy.wire.netlink import AF_INET, AF_INET6
from tests.lab.netns import namespace


@pytest.fixture
def node():
    with namespace("node") as ns, ns.enter():
        yield ns


def leave(node, program: str, table: str, chain: str) -> None:
    node.run([program, "-t", table, "-N", chain])


def plain() -> Flavour:
    said = subprocess.run(["iptables", "--version"], capture_output=True, text=True, check=True).stdout
    return Flavour.NFT if "nf_tables" in said else Flavour.LEGACY


# what somebody left (program, table, chain), the flavour (the PATH's where it is empty), and why
LEFT = [
    ([("iptables-nft", "mangle", "KUBE-IPTABLES-HINT")], "nft", "it holds the kubelet's chain KUBE-IPTABLES-HINT of table mangle"),
    ([("ip6tables-nft", "mangle", "KUBE-IPTABLES-HINT")], "nft", "it holds the kubelet's chain KUBE-IPTABLES-HINT of table mangle"),
    ([("iptables-nft", "mangle", "KUBE-KUBELET-CANARY")], "nft", "it holds the kubelet's chain KUBE-KUBELET-CANARY of table mangle"),
    ([("iptables-legacy", "mangle", "KUBE-IPTABLES-HINT")], "legacy", "it holds the kubelet's chain KUBE-IPTABLES-HINT of table mangle"),
    ([("ip6tables-legacy", "mangle", "KUBE-KUBELET-CANARY")], "legacy", "it holds the kubelet's chain KUBE-KUBELET-CANARY of table mangle"),
    ([("iptables-nft", "nat", "KUBE-SERVICES")], "nft", "it holds kube-proxy's chain KUBE-SERVICES of table nat"),
    ([("iptables-legacy", "nat", "KUBE-SERVICES")], "legacy", "it holds kube-proxy's chain KUBE-SERVICES of table nat"),
    ([("ip6tables-legacy", "filter", "KUBE-SERVICES")], "legacy", "it holds kube-proxy's chain KUBE-SERVICES of table filter"),
    # The kubelet's hint counts more than what a proxy of another flavour left behind.
    (
        [("iptables-nft", "nat", "KUBE-SERVICES"), ("iptables-legacy", "mangle", "KUBE-IPTABLES-HINT")],
        "legacy",
        "it holds the kubelet's chain KUBE-IPTABLES-HINT of table mangle",
    ),
    # Other people's chains are no hint.
    ([("iptables-legacy", "nat", "DOCKER")], "", "what `iptables` in the PATH is, as nobody left a hint"),
    ([("iptables-nft", "nat", "DOCKER")], "", "what `iptables` in the PATH is, as nobody left a hint"),
    ([], "", "what `iptables` in the PATH is, as nobody left a hint"),
]  # fmt: skip


@pytest.mark.parametrize("left, kind, why", LEFT)
def test_traces_decide(node, left, kind, why):
    for trace in left:
        leave(node, *trace)
    kind = kind or plain()
    choice = choose()
    assert (choice.programs.flavour, choice.reason) == (Flavour(kind), f"{kind}: {why}")
    assert choice.programs.usable(False)


def test_asking_makes_no_legacy_tables(node):
    """The nft flavour would warn about them in every output from then on."""
    leave(node, "iptables-nft", "mangle", "KUBE-IPTABLES-HINT")
    choose()
    assert legacy_tables(AF_INET) == legacy_tables(AF_INET6) == ()


def test_asking_makes_no_legacy_tables_on_an_empty_node_either(node):
    choose()
    assert legacy_tables(AF_INET) == legacy_tables(AF_INET6) == ()


def without(monkeypatch, *infixes: str) -> None:
    """A node on which some programs are not installed."""
    really = flavour.installed
    missing = {f"iptables{infix}{verb}" for infix in infixes for verb in ("", "-save", "-restore")}
    monkeypatch.setattr(flavour, "installed", lambda name: None if name in missing else really(name))


def test_a_node_with_one_flavour_uses_it_and_says_what_it_gave_up(node, monkeypatch):
    leave(node, "iptables-nft", "mangle", "KUBE-IPTABLES-HINT")
    without(monkeypatch, "-nft", "")
    choice = choose()
    assert choice.programs.flavour is Flavour.LEGACY
    assert choice.reason == (
        "legacy: the only one installed, although "
        "the kubelet's chain KUBE-IPTABLES-HINT of table mangle is in the nft tables"
    )


def test_plain_iptables_will_do_where_the_long_names_are_missing(node, monkeypatch):
    """Small images have no iptables-nft, only iptables."""
    without(monkeypatch, f"-{plain()}")
    choice = choose()
    assert (choice.programs.flavour, choice.programs.name(True, "-restore")) == (plain(), "ip6tables-restore")


def test_a_node_without_iptables_is_told_what_to_install(node, monkeypatch):
    without(monkeypatch, "", "-nft", "-legacy")
    with pytest.raises(KernelError, match=r"^iptables: is not installed \(install the package iptables\)$"):
        choose()
