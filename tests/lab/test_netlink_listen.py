"""The listeners and the real kernel: who changed what is heard at once, and a flood is not taken for silence."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from kubeproxy.kernel import netlink
from kubeproxy.kernel.listen import AddressWatch, RulesetWatch
from kubeproxy.wire.netlink import AF_INET, AF_INET6, Doubt
from kubeproxy.wire.nfnotify import Happened, RulesetChange, Thing, Transaction
from kubeproxy.wire.rtnetlink import AddressChange, Link, LinkChange, LocalAddress, Scope
from kubeproxy.wire.rtnetlink import Happened as HappenedToAddress
from tests.lab.netns import namespace

TABLE = RulesetChange(Happened.ADDED, Thing.TABLE, AF_INET, "nat")


class Heard:
    """News as they come, and a way to wait for the piece one is looking for."""

    def __init__(self):
        self.news = []
        self.at_once: dict[object, Callable[[], object]] = {}
        self._more = asyncio.Event()

    def __call__(self, news):
        told = news if isinstance(news, tuple) else (news,)
        self.news.extend(told)
        self._more.set()
        for each in told:
            self.at_once.pop(each, lambda: None)()

    async def until(self, found: Callable[[list], object]):
        """Everything up to the piece that was waited for; five seconds without it is a failure."""
        async with asyncio.timeout(5):
            while not found(self.news):
                self._more.clear()
                await self._more.wait()
        news, self.news = self.news, []
        return news


def listening(watch, story):
    """Run a story inside a fresh node while somebody listens there."""

    async def scene(node):
        heard = Heard()
        watching = watch(heard)
        watching.start()
        try:
            await story(node, heard)
        finally:
            watching.close()

    with namespace("node") as node:
        node.call(lambda: asyncio.run(scene(node)))


async def change(node, *argv, **options):
    """A change made by a program, while the loop goes on."""
    return await asyncio.to_thread(node.run, argv, **options)


def commits(number):
    return lambda news: len([each for each in news if isinstance(each, Transaction)]) >= number


def test_addresses_that_come_and_go_are_heard():
    async def story(node, heard):
        await change(node, "ip", "address", "add", "192.0.2.1/24", "dev", "lo")
        address = LocalAddress(AF_INET, "192.0.2.1", 24, 1, "", Scope.UNIVERSE)
        came = AddressChange(HappenedToAddress.ADDED, address)
        assert (await heard.until(lambda news: came in news)) == [came]
        await change(node, "ip", "address", "delete", "192.0.2.1/24", "dev", "lo")
        went = AddressChange(HappenedToAddress.REMOVED, address)
        assert (await heard.until(lambda news: went in news)) == [went]
        await change(node, "ip", "-6", "address", "add", "fd00::1/64", "dev", "lo", "nodad")
        address6 = LocalAddress(AF_INET6, "fd00::1", 64, 1, "", Scope.UNIVERSE)
        came6 = AddressChange(HappenedToAddress.ADDED, address6)
        assert came6 in await heard.until(lambda news: came6 in news)

    listening(AddressWatch, story)


def test_links_that_go_down_are_heard_with_their_addresses():
    async def story(node, heard):
        await change(node, "ip", "link", "set", "lo", "down")
        loopback = LocalAddress(AF_INET6, "::1", 128, 1, "", Scope.HOST)
        lost = AddressChange(HappenedToAddress.REMOVED, loopback)
        down = LinkChange(HappenedToAddress.ADDED, Link(1, "lo", False))
        news = await heard.until(lambda news: lost in news and down in news)
        assert all(not isinstance(each, Doubt) for each in news)

    listening(AddressWatch, story)


def test_a_flush_by_somebody_is_heard_with_his_name():
    async def story(node, heard):
        for line in ("-N KUBE-SERVICES", "-A KUBE-SERVICES -j ACCEPT", "-A KUBE-SERVICES -j RETURN"):
            await change(node, "iptables-nft", "-t", "nat", *line.split())
        made = await heard.until(commits(3))
        assert [each.changes for each in made[:1]] == [
            (TABLE, RulesetChange(Happened.ADDED, Thing.CHAIN, AF_INET, "nat", "KUBE-SERVICES", 1))
        ]
        rules = [each.changes[0].handle for each in made[1:]]
        await change(node, "iptables-nft", "-t", "nat", "-F")
        (flushed,) = await heard.until(commits(1))
        assert flushed.process == "iptables-nft"
        assert flushed.generation == netlink.generation() == made[-1].generation + 1
        assert flushed.changes == tuple(
            RulesetChange(Happened.REMOVED, Thing.RULE, AF_INET, "nat", "KUBE-SERVICES", handle)
            for handle in rules
        )

    listening(RulesetWatch, story)


def test_a_deleted_chain_and_a_flushed_ruleset_are_heard():
    async def story(node, heard):
        await change(node, "ip6tables-nft", "-t", "nat", "-N", "KUBE-PROXY-CANARY")
        await change(node, "ip6tables-nft", "-t", "nat", "-X", "KUBE-PROXY-CANARY")
        _, deleted = await heard.until(commits(2))
        assert deleted.changes == (
            RulesetChange(Happened.REMOVED, Thing.CHAIN, AF_INET6, "nat", "KUBE-PROXY-CANARY", 1),
        )
        await change(node, "nft", "flush", "ruleset")
        (flushed,) = await heard.until(commits(1))
        assert flushed.process == "nft"
        assert RulesetChange(Happened.REMOVED, Thing.TABLE, AF_INET6, "nat") in flushed.changes

    listening(RulesetWatch, story)


def test_one_restore_of_two_tables_is_two_commits_each_whole():
    payload = "*nat\n:A - [0:0]\n" + "-A A -j RETURN\n" * 200 + "COMMIT\n*filter\n:B - [0:0]\nCOMMIT\n"

    async def story(node, heard):
        await change(node, "iptables-nft-restore", "--noflush", input=payload)
        first, second = await heard.until(commits(2))
        assert [each.thing for each in first.changes] == [Thing.TABLE, Thing.CHAIN] + [Thing.RULE] * 200
        assert len({each.handle for each in first.changes if each.thing is Thing.RULE}) == 200
        assert {each.table for each in first.changes} == {"nat"}
        assert {each.table for each in second.changes} == {"filter"}
        # Both are the program's process, but a port is its number in here and a pid that outside all containers.
        assert (first.port, first.pid) == (second.port, second.pid)
        assert 0 not in (first.port, first.pid)

    listening(RulesetWatch, story)


def test_what_our_own_child_wrote_is_heard_as_a_commit_without_changes():
    own = set()

    async def story(node, heard):
        child = await asyncio.create_subprocess_exec(
            "iptables-nft-restore", "--noflush", stdin=asyncio.subprocess.PIPE
        )
        own.add(child.pid)
        await child.communicate(b"*nat\n:A - [0:0]\n-A A -j RETURN\nCOMMIT\n")
        (mine,) = await heard.until(commits(1))
        assert (mine.port, mine.changes) == (child.pid, ())
        await change(node, "iptables-nft", "-t", "nat", "-F", "A")
        (theirs,) = await heard.until(commits(1))
        assert len(theirs.changes) == 1

    listening(lambda heard: RulesetWatch(heard, own), story)


def test_elements_of_a_set_are_heard_by_the_name_of_the_set():
    async def story(node, heard):
        await change(node, "nft", "add table ip x; add set ip x s { type ipv4_addr; }")
        await change(node, "nft", "add element ip x s { 192.0.2.1, 192.0.2.2 }")
        made, added = await heard.until(commits(2))
        assert [each.thing for each in made.changes] == [Thing.TABLE, Thing.SET]
        assert set(added.changes) == {RulesetChange(Happened.ADDED, Thing.ELEMENT, AF_INET, "x", "s")}

    listening(RulesetWatch, story)


LOST = Doubt("announcements came faster than they were read")
MANY_RULES = "*nat\n:A - [0:0]\n" + "-A A -j RETURN\n" * 500 + "COMMIT\n"
MANY_ADDRESSES = "".join(f"address add 10.1.{n >> 8}.{n & 255}/32 dev lo\n" for n in range(1000))


@pytest.mark.parametrize(
    "watch, program, flood, afterwards, sign",
    [
        (RulesetWatch, ["iptables-nft-restore"], MANY_RULES, ["nft", "add", "table", "ip", "x"], "table='x'"),
        (
            AddressWatch,
            ["ip", "-batch", "-"],
            MANY_ADDRESSES,
            ["ip", "address", "add", "192.0.2.1", "dev", "lo"],
            "192.0.2.1",
        ),
    ],
    ids=["ruleset", "addresses"],
)
def test_a_flood_that_does_not_fit_is_a_doubt(watch, program, flood, afterwards, sign, monkeypatch):
    """The loop is busy meanwhile, so nobody reads; the kernel says that it dropped something, and so do we.

    What happens from that moment on is heard again: whoever looks after a doubt misses nothing.
    """
    monkeypatch.setattr(watch, "_ROOM", 4096)

    async def story(node, heard):
        heard.at_once[LOST] = lambda: node.run(afterwards)
        node.run(program, input=flood)
        await heard.until(lambda news: LOST in news and any(sign in str(each) for each in news))

    listening(watch, story)


def chains_at_once():
    """As many as a first load writes in one portion; a user namespace may send less in one message."""
    first_user_namespace = Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]
    return 1100 if first_user_namespace else 100


def test_a_large_load_fits_while_the_loop_is_busy():
    """A portion of a first load: chains with some rules in each, and nobody reading meanwhile."""
    chains = chains_at_once()
    declared = "".join(f":C{n} - [0:0]\n" for n in range(chains))
    rules = "".join(f"-A C{n % chains} -p tcp -m comment --comment x -j RETURN\n" for n in range(3 * chains))

    async def story(node, heard):
        node.run(["iptables-nft-restore", "--noflush"], input=f"*nat\n{declared}{rules}COMMIT\n")
        (loaded,) = await heard.until(lambda news: news)
        assert isinstance(loaded, Transaction)
        assert len(loaded.changes) == 1 + chains + 3 * chains

    listening(RulesetWatch, story)
