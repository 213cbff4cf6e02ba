"""The loop on a kernel in memory: when it begins, what it does when the kernel fails, and how it tells."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from kubeproxy.api.change import Change, Synced, Upsert
from kubeproxy.api.decode import decode
from kubeproxy.backends.iptables.backend import IPTables
from kubeproxy.config.decode import decode_config
from kubeproxy.model.identity import Family
from kubeproxy.runtime import servers
from kubeproxy.runtime.http import Answer, Request, listening
from kubeproxy.runtime.proxy import Proxy, Wheel
from kubeproxy.sources.notice import Reading
from kubeproxy.wire.netlink import AF_INET
from kubeproxy.wire.op import Operation
from kubeproxy.wire.rtnetlink import LocalAddress, Scope
from tests.runtime.faults import Faulty
from tests.runtime.shops import pods, shop, shops

FOUR, SIX = Family.IPV4, Family.IPV6
CONFIG = """
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
iptables: {minSyncPeriod: 1ms, syncPeriod: 30s}
"""
SYNCED = (Synced("Service"), Synced("EndpointSlice"))


class Machine(Faulty):
    """A kernel, and the rest of a machine."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses_held = [LocalAddress(AF_INET, "192.168.50.11", 24, 2, "eth0", Scope.UNIVERSE)]
        self.committed = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None

    def commit(self, ops: Sequence[Operation]) -> None:
        super().commit(ops)
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.committed.set)

    def udp_flows(self, family: Any, wanted: Any = lambda flow: True) -> Any:
        return ()


class Story:
    """A source: says what it is told to say."""

    def __init__(self) -> None:
        self.readings: asyncio.Queue[Reading] = asyncio.Queue()

    def say(self, *changes: Change) -> None:
        self.readings.put_nowait(Reading(tuple(changes)))

    async def watch(self) -> AsyncGenerator[Reading, None]:
        while True:
            yield await self.readings.get()
            self.readings.task_done()


class Scene:
    """A proxy whose loop a test turns by hand, or lets run."""

    def __init__(self) -> None:
        self.machine, self.story = Machine(), Story()
        backends = {family: IPTables(ipv6=family is SIX, portion=None) for family in Family}
        config = decode_config(CONFIG, "config.yaml").config
        self.proxy = Proxy(config, "node-a", self.story, self.machine, backends)
        for family in Family:
            self.proxy.health.started(family)

    @property
    def wheel(self) -> Wheel:
        return self.proxy.wheels[FOUR]

    @property
    def asked(self) -> dict[Family, bool]:
        return {family: wheel.runner.timetable.asked for family, wheel in self.proxy.wheels.items()}

    async def hear(self, *changes: Change) -> None:
        """Let the proxy hear this and nothing more."""
        self.story.say(*changes)
        listening_task = asyncio.create_task(self.proxy._listen())
        await self.story.readings.join()
        listening_task.cancel()

    async def turn(self, family: Family = FOUR) -> float | None:
        """One sync, as the runner makes it."""
        wheel = self.proxy.wheels[family]
        wheel.runner.timetable.begin()
        return await wheel.turn()

    def value(self, name: str) -> dict[tuple[str, ...], float]:
        return getattr(self.proxy.metrics, name).values

    @property
    def rules(self) -> str:
        return "\n".join(self.machine.tables[False]["nat"].dump())


@pytest.fixture
def play() -> Callable[[Callable[[Scene], Awaitable[None]]], None]:
    def run(story: Callable[[Scene], Awaitable[None]]) -> None:
        async def act() -> None:
            await story(Scene())

        asyncio.run(act())

    return run


def test_nothing_is_programmed_before_everything_is_known(play):
    """Half of the Services would be torn down and built up again, on each start of each node."""

    async def story(scene: Scene) -> None:
        await scene.hear(*shops(range(3)), Synced("Service"))
        assert scene.asked == {FOUR: False, SIX: False}
        assert await scene.turn() is None
        assert scene.machine.given == []
        await scene.hear(Synced("EndpointSlice"))
        assert scene.asked == {FOUR: True, SIX: True}
        assert await scene.turn() is None
        assert "10.77.2.2:8080" in scene.rules

    play(story)


def test_a_cluster_without_any_service_is_programmed_too(play):
    async def story(scene: Scene) -> None:
        await scene.hear(*SYNCED)
        assert scene.asked == {FOUR: True, SIX: True}
        await scene.turn()
        assert "-j KUBE-SERVICES" in scene.rules

    play(story)


def test_h10_health_does_not_count_what_cannot_be_done_yet(play):
    """A node that gets another zone before the cluster is known waits for the cluster, not for the proxy."""

    async def story(scene: Scene) -> None:
        await scene.hear(*shops(range(3)), zone("zone-2"))
        scene.proxy.addresses_changed()
        assert scene.proxy.health._pulses[FOUR].waiting_since is None
        await scene.hear(*SYNCED)
        assert scene.proxy.health._pulses[FOUR].waiting_since is not None
        await scene.turn()
        assert scene.proxy.health._pulses[FOUR].waiting_since is None
        assert scene.wheel.lane.node.zone == "zone-2"

    play(story)


def zone(name: str) -> Change:
    labels = {"topology.kubernetes.io/zone": name}
    return Upsert(
        decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a", "labels": labels}})
    )


def test_a_change_of_one_family_leaves_the_other_alone(play):
    async def story(scene: Scene) -> None:
        await scene.hear(*SYNCED)
        await scene.turn(FOUR)
        await scene.turn(SIX)
        await scene.hear(shop(1))
        assert scene.asked == {FOUR: True, SIX: False}

    play(story)


def test_a_failed_sync_is_tried_again_soon_then_ever_later(play):
    """Whatever it took is still to be done, and health still waits for it."""

    async def story(scene: Scene) -> None:
        await scene.hear(*SYNCED, *shops(range(3)))
        scene.machine.next = iter(["killed"] * 8)
        assert [await scene.turn() for _ in range(8)] == [1, 2, 4, 8, 16, 30, 30, 30]
        assert scene.proxy.health._pulses[FOUR].waiting_since is not None
        assert scene.value("restore_failures") == {("IPv4",): 8}
        assert scene.value("partial_restore_failures") == {}
        assert await scene.turn() is None
        assert "10.77.2.2:8080" in scene.rules
        assert scene.proxy.health._pulses[FOUR].waiting_since is None
        scene.machine.next = iter(["busy"])
        await scene.hear(pods(1, 3))
        assert await scene.turn() == 1
        assert scene.value("partial_restore_failures") == {("IPv4",): 1}

    play(story)


def test_a_proxy_that_fails_for_days_still_tries(play):
    async def story(scene: Scene) -> None:
        scene.wheel.failures = 100_000
        await scene.hear(*SYNCED, *shops(range(3)))
        scene.machine.next = iter(["killed"])
        assert await scene.turn() == 30

    play(story)


def test_who_is_withheld_sets_the_time_of_the_next_sync(play):
    async def story(scene: Scene) -> None:
        scene.machine.refuses = {'"shop/s1 '}
        await scene.hear(*SYNCED, *shops(range(3)))
        wait = await scene.turn()
        assert wait is not None
        assert 4.0 < wait <= 5.0
        assert scene.value("quarantined") == {("IPv4",): 1}
        scene.wheel.lane.quarantine = {
            name: type(kept)(kept.problem, kept.tries, 0.0)
            for name, kept in scene.wheel.lane.quarantine.items()
        }
        scene.machine.refuses = set()
        assert await scene.turn() is None
        assert scene.value("quarantined") == {("IPv4",): 0}

    play(story)


def test_what_is_asked_for_during_a_sync_is_watched_by_health(play):
    async def story(scene: Scene) -> None:
        await scene.hear(*SYNCED)
        read = scene.machine.read
        scene.machine.read = lambda **which: (scene.wheel.ask(), read(**which))[1]
        await scene.turn()
        assert scene.proxy.health._pulses[FOUR].waiting_since is not None
        assert scene.asked[FOUR]

    play(story)


def test_pending_changes_are_counted_until_they_are_taken(play):
    async def story(scene: Scene) -> None:
        await scene.hear(*SYNCED)
        await scene.turn()
        await scene.hear(shop(1), shop(2), pods(1), pods(1, 3))
        assert scene.value("service_changes_pending") == {(): 2}
        assert scene.value("endpoint_changes_pending") == {(): 2}
        assert scene.value("service_changes") == {(): 4}
        assert scene.value("endpoint_changes") == {(): 2}
        await scene.turn()
        assert scene.value("service_changes_pending") == {(): 0}
        assert scene.value("endpoint_changes_pending") == {(): 0}

    play(story)


def test_rules_are_counted(play):
    async def story(scene: Scene) -> None:
        await scene.hear(*SYNCED, *shops(range(3)))
        await scene.turn()
        total = scene.rules.count("\n-A KUBE-")
        assert scene.value("rules_total")[("IPv4", "nat")] == total
        await scene.hear(pods(1, 3))
        await scene.turn()
        assert scene.value("rules_total")[("IPv4", "nat")] == total + 3
        assert scene.value("rules_last")[("IPv4", "nat")] == 3 + 2
        assert scene.value("rules_last")[("IPv4", "filter")] == 0

    play(story)


def test_it_runs_by_itself_from_the_first_change_to_the_last(play):
    async def story(scene: Scene) -> None:
        machine = scene.machine
        machine.loop = asyncio.get_running_loop()
        running = asyncio.create_task(scene.proxy.run())
        scene.story.say(*SYNCED, *shops(range(3)))
        await until(machine, lambda: "10.77.2.2:8080" in scene.rules)
        scene.story.say(pods(1, 3))
        await until(machine, lambda: "10.77.1.3:8080" in scene.rules)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    play(story)


async def until(machine: Machine, true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await machine.committed.wait()
            machine.committed.clear()


def test_a_defect_ends_it(play):
    """Whoever supervises starts it again, with nothing it only believes to know."""

    async def story(scene: Scene) -> None:
        def broken(ops: Sequence[Operation]) -> None:
            raise ZeroDivisionError

        scene.machine.commit = broken
        scene.story.say(*SYNCED)
        with pytest.raises(ExceptionGroup) as ended:
            await scene.proxy.run()
        assert ended.group_contains(ZeroDivisionError)

    play(story)


async def greet(request: Request) -> Answer:
    return Answer(200, b"hello")


def test_a_port_of_the_proxy_itself_is_tried_again(monkeypatch):
    monkeypatch.setattr(servers, "RETRY", 0.01)
    failed = asyncio.Event()
    monkeypatch.setattr(servers.log, "folded", lambda *words, **keys: failed.set())

    async def story() -> None:
        taken = listening("127.0.0.1", 0)
        port = taken.getsockname()[1]
        served = servers.Port("Healthz", f"127.0.0.1:{port}", greet, hard_fail=False)
        serving = asyncio.create_task(served.run())
        await failed.wait()
        taken.close()
        async with asyncio.timeout(10):
            assert (await said(port)).endswith(b"hello")
        serving.cancel()

    asyncio.run(story())


async def said(port: int) -> bytes:
    """What the page answers, as soon as somebody serves it."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0)
            continue
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        text = await reader.read()
        writer.close()
        return text


def test_a_taken_port_is_the_end_where_the_operator_wants_that():
    async def story() -> None:
        with listening("127.0.0.1", 0) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            await servers.Port("Healthz", address, greet, hard_fail=True).run()

    with pytest.raises(OSError, match="in use"):
        asyncio.run(story())
