"""Stage: the little cluster, built and inhabited. Whoever holds it can send packets.

    with Stage(cluster(pods)) as stage:
        proxy = stage.start("node-a", ["kube-proxy", "--manifests", folder], log)
        stage.until(Dial("client", "198.51.100.10", 80))
        answers = stage.dial([Dial("web-1", "10.96.0.10", 53, "UDP"), ...])

It knows nothing of Services, and nothing of what programs the node: our proxy in any mode, another
one, or rules written by hand.
"""

import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import IO, Any

from msgspec import Struct

from kubeproxy.cli.stage import echo, rooms, wiring
from kubeproxy.cli.stage.layout import Layout, only_ipv4
from kubeproxy.cli.stage.questions import Answer, Dial, Fate, answer
from kubeproxy.cli.stage.rooms import Resident, StageError

IP_OPTION = {"IPv4": "-4", "IPv6": "-6"}


class Tally(Struct, frozen=True):
    """Who answered how often ("address:port", or the fate of those nobody answered)."""

    answered: dict[str, int]
    seconds: float


class Farewell(Struct, frozen=True):
    """How a server went away, as one who kept dialling saw it; times are of the monotonic clock."""

    #: when the last connection it answered began
    last: int
    #: whether it stayed away long enough to believe it
    gone: bool
    count: int
    #: who answered the connections after that one
    afterwards: dict[str, int]


class Stage:
    """Namespaces with residents, wired as a layout says, from `with` to its end."""

    def __init__(self, layout: Layout) -> None:
        self.families = tuple(IP_OPTION)[: len(echo.families())]
        self.layout = layout if "IPv6" in self.families else only_ipv4(layout)
        self.residents: dict[str, Resident] = {}
        self.processes: list[subprocess.Popen[str]] = []

    def __enter__(self) -> "Stage":
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends every process; the namespaces and all in them go with the last one."""
        while self.processes:
            rooms.end(self.processes.pop())
        while self.residents:
            self.residents.popitem()[1].leave()

    def pid(self, room: str) -> int:
        """A process inside the room: /proc/PID/ns/net is its namespace."""
        return self.residents[room].pid

    def run(self, room: str, argv: Sequence[str], given: str = "") -> str:
        """Runs a command to its end inside a room; what it prints, or StageError with its complaint."""
        done = rooms.run_inside(self.pid(room), argv, given)
        if done.returncode:
            raise StageError(
                f"{' '.join(argv)} in {room} ended with {done.returncode}: {done.stderr.strip()}"
            )
        return done.stdout

    def start(
        self, room: str, argv: Sequence[str], log: IO[str], environ: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Starts a command that goes on inside a room, until `stop` or the end of the stage."""
        process = rooms.start_inside(self.pid(room), argv, log, environ)
        self.processes.append(process)
        return process

    def stop(self, process: subprocess.Popen[str]) -> int:
        """Ends what `start` started; its exit status."""
        self.processes.remove(process)
        return rooms.end(process)

    def dial(self, dials: Iterable[Dial]) -> list[Answer]:
        """All dials at once, each from its room; the answers in the same order."""
        dials = tuple(dials)
        by_room: dict[str, list[int]] = {}
        for index, dial in enumerate(dials):
            by_room.setdefault(dial.room, []).append(index)
        for room, indexes in by_room.items():
            self.residents[room].ask("dials", dials=[dials[index].order() for index in indexes])
        answers: dict[int, Answer] = {}
        for room, indexes in by_room.items():
            said = self.residents[room].hear()["answers"]
            answers |= {index: answer(one) for index, one in zip(indexes, said, strict=True)}
        return [answers[index] for index in range(len(dials))]

    def until(self, dial: Dial, fate: Fate = Fate.ARRIVED, seconds: float = 20.0, **wanted: str) -> Answer:
        """Dials until that comes of it; StageError if it never does.

        `wanted` are further fields that the Answer must have.
        """
        said = self.residents[dial.room].tell(
            "until", dial=dial.order(), seconds=seconds, wanted={"outcome": fate.value, **wanted}
        )
        if not said["came"]:
            raise StageError(
                f"{dial}: {answer(said['answer'])}, not {fate} {wanted or ''} within {seconds:g} s"
            )
        return answer(said["answer"])

    def tally(self, dial: Dial, times: int) -> Tally:
        """The same dial many times, one after the other."""
        said = self.residents[dial.room].tell("tally", dial=dial.order(), times=times)
        return Tally(said["answered"], said["seconds"])

    def farewell(
        self, dial: Dial, name: str, take_away: Callable[[], Any], absent: int = 200, seconds: float = 30.0
    ) -> Farewell:
        """Keeps dialling while `take_away` takes a server away: when did it answer last?

        It counts as gone when `absent` connections in a row went elsewhere: with two servers that
        leaves a chance of 1 in 2**absent to be wrong.
        """
        resident = self.residents[dial.room]
        resident.ask("farewell", dial=dial.order(), name=name, absent=absent, seconds=seconds)
        said = resident.hear()
        if "watching" in said:
            take_away()
            said = resident.hear()
        return Farewell(said["last"], said["gone"], said["count"], said["afterwards"])

    def open_stream(self, stream: str, dial: Dial) -> None:
        """Opens a connection that stays: `alive` asks whether it still works."""
        said = self.residents[dial.room].tell("open stream", stream=stream, dial=dial.order())
        if "error" in said:
            raise StageError(f"{dial}: {said['error']}")

    def alive(self, room: str, stream: str) -> str:
        """Says a line over an open connection: its answer, or StageError when the connection has died."""
        said = self.residents[room].tell("ask stream", stream=stream)
        if "error" in said:
            raise StageError(f"the connection {stream} from {room} has died: {said['error']}")
        text: str = said["text"]
        return text

    def _build(self) -> None:
        for room in self.layout.rooms:
            self.residents[room.name] = Resident(room.name)
        for room in self.layout.rooms:
            self.residents[room.name].ask(
                "move in", name=room.name, serves=room.serves, sysctls=wiring.sysctls(room)
            )
        for room in self.layout.rooms:
            if unserved := self.residents[room.name].hear()["unserved"]:
                raise StageError(f"{room.name} cannot serve {', '.join(unserved)}")
        pids = {name: resident.pid for name, resident in self.residents.items()}
        self._furnish(wiring.cables(self.layout, pids).items())
        self._furnish((room.name, wiring.furniture(room)) for room in self.layout.rooms)
        ruled = [room for room in self.layout.rooms if room.rules]
        for family in self.families:
            self._furnish(((room.name, wiring.rules(room)) for room in ruled), IP_OPTION[family])

    def _furnish(self, batches: Iterable[tuple[str, str]], *options: str) -> None:
        """Gives every room its batch; all at once, as they do not depend on each other."""
        started = [(room, text, rooms.batch(self.pid(room), text, *options)) for room, text in batches]
        for room, text, process in started:
            assert process.stderr
            complaint = process.stderr.read()
            if process.wait():
                raise StageError(f"{room} could not be wired: {complaint.strip()}\n{text}")
