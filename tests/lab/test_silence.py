"""The kernel keeps our own announcements away from us, and nobody else's."""

import asyncio

from kubeproxy.kernel.listen import RulesetWatch
from kubeproxy.kernel.processes import Flavour, Programs
from kubeproxy.wire.nfnotify import Transaction
from kubeproxy.wire.restore import Restore
from tests.lab.netns import namespace


def load(rules: int) -> Restore:
    return Restore(False, [b"*nat\n:A - [0:0]\n", b"-A A -j RETURN\n" * rules, b"COMMIT\n"])


def test_a_load_of_ours_is_one_short_announcement_and_others_are_heard_in_full(monkeypatch):
    """There is room for a few announcements only, so that a single rule of ours too many would be a Doubt."""
    monkeypatch.setattr(RulesetWatch, "_ROOM", 16384)
    heard = []

    async def scene(node):
        programs = Programs(Flavour.NFT, "-nft")
        watch = RulesetWatch(heard.append)
        programs.tell = watch.silence
        await asyncio.to_thread(programs.restore, load(500))
        await asyncio.to_thread(node.run, ["iptables-nft", "-t", "nat", "-A", "A", "-j", "ACCEPT"])
        await asyncio.to_thread(programs.restore, load(500))
        watch._hear()
        watch.close()

    with namespace("node") as node:
        node.call(lambda: asyncio.run(scene(node)))
    assert all(isinstance(news, Transaction) for news in heard), heard
    assert [len(news.changes) for news in heard] == [0, 1, 0]
    assert [news.process for news in heard][1] == "iptables-nft"
