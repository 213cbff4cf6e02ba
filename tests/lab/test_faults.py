"""What can go wrong while rules are written, on real packets: each time the node ends as a fresh one would be, and
the connections that were open before all of it live on.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from kubeproxy.kernel import netlink
from kubeproxy.kernel.processes import Flavour
from tests.lab.daemon import until
from tests.lab.faulted import STREAMS, Node, changed, faulted, grown, shops
from tests.lab.shops import addresses, service

REFUSED = "The kernel refuses the rules of a Service port"


@pytest.fixture(scope="module", params=list(Flavour))
def standing(request, tmp_path_factory) -> Iterator[Node]:
    """A daemon with a dozen Services, and connections through one of them, for all tests."""
    with faulted(request.param, tmp_path_factory.mktemp("node")) as node:
        node.write(shops())
        node.start()
        node.open_streams()
        node.converges()
        yield node


@pytest.fixture
def node(standing) -> Iterator[Node]:
    """Well again after each test."""
    yield standing
    standing.refuse()
    standing.write(shops())
    live(standing)


def live(node: Node) -> None:
    node.converges()
    node.streams_live()


@pytest.mark.parametrize("fate", ["failed", "busy", "killed", "half", "after"])
def test_a_restore_that_goes_wrong_once_is_made_good(node, fate):
    """Both tables are concerned, as a Service loses its last endpoint."""
    node.once(fate)
    node.write(changed(shops(), grown(3, 0), grown(4)))
    live(node)
    assert not (node.control / "once").exists()


def test_a_service_that_is_refused_is_withheld_by_name_until_it_is_accepted(node):
    """It keeps what it had; the others have what is new. It is tried again without anybody asking.

    The nft flavour's program names the line; legacy tables are refused as a whole.
    """
    said = node.count(REFUSED)
    node.refuse(f"{addresses(1005, 3)[0]}:8080", lines=node.flavour is Flavour.NFT)
    node.write(changed(shops(), grown(4), grown(5), grown(6)))
    assert 'servicePort="shop/s5:http"' in node.said(REFUSED, said + 1)
    node.converges(changed(shops(), grown(4), grown(6)))
    node.streams_live()
    node.refuse()
    live(node)


def test_a_culprit_among_all_after_a_restart(node):
    """Somebody flushed nat while nobody looked, and one of all these Services is refused."""
    node.kill()
    said = node.count(REFUSED)
    for family in ("", "6"):
        node.stage.run("node-a", [f"ip{family}tables-{node.flavour}", "-t", "nat", "-F"])
    node.refuse('"shop/s7:http', lines=node.flavour is Flavour.NFT)
    node.start()
    assert 'servicePort="shop/s7:http"' in node.said(REFUSED, said + 1)
    node.converges([one for one in shops() if one["metadata"]["name"] not in ("s7", "s7-a")])
    # A change is reason enough to try again at once.
    node.refuse()
    node.write(changed(shops(), grown(7)))
    live(node)


def test_a_program_that_outlives_the_proxy_does_not_have_the_last_word(node):
    """It hangs with rules that nobody wants any more; nothing but their text differs from the later ones."""
    node.once("slow")
    node.write(changed(shops(), sticky(5, 600)))
    until((node.control / "sleeps").exists, "asleep")
    node.kill()
    node.write(changed(shops(), sticky(5, 700)))
    node.start()
    node.said("Waiting for what an earlier proxy still writes")
    (node.control / "go").touch()
    live(node)
    assert "--seconds 700" in "\n".join(node.dump())


def sticky(number: int, seconds: int) -> dict[str, Any]:
    config = {"clientIP": {"timeoutSeconds": seconds}}
    return service(number, sessionAffinity="ClientIP", sessionAffinityConfig=config)


def test_a_restart_with_nothing_changed_writes_nothing(node):
    """The kernel counts its commits, and a rule that is written again counts its packets from zero."""
    node.stage.until(STREAMS["outside"], name="here")
    node.kill()
    before, calls, packets = generation(node), node.calls, node.packets()
    said = node.count("Synced the rules")
    node.start()
    node.said("Synced the rules", said + 2)
    assert (generation(node), node.calls, node.packets()) == (before, calls, packets)
    assert any(count > 0 for count in packets.values())


def generation(node: Node) -> int:
    """The kernel's count of commits; legacy tables have none."""
    return node.inside(netlink.generation) if node.flavour is Flavour.NFT else 0
