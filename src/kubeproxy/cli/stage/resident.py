"""The process that lives in a namespace: it serves, and dials when told to.

Runs in a bare interpreter: the standard library only. It is told by lines of JSON on its standard
input, answers with one line each, and ends with its input: nobody has to clean up after it.
The first line says who it is; see `move_in`.
"""

import contextlib
import json
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubeproxy.cli.stage.dialling import ARRIVED, dial, hold, say
from kubeproxy.cli.stage.echo import serve

Order = dict[str, Any]
AT_ONCE = 40
#: between two attempts of something that has to come true by itself
BREATH = 0.005
held: dict[str, socket.socket] = {}


def move_in(order: Order) -> Order:
    """Sets the kernel up, before there is an interface, and starts the servers."""
    for name, value in order["sysctls"].items():
        # What this kernel does not have, or lets nobody change in a namespace, is how it is.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            Path("/proc/sys", name).write_text(value)
    unserved = []
    for what in order["serves"]:
        port, _, protocol = what.partition("/")
        try:
            serve(order["name"], protocol, int(port))
        except OSError as error:
            unserved.append(f"{what}: {error}")
    return {"unserved": unserved}


def dials(order: Order) -> Order:
    """Many different dials at once: those that meet silence take their time together."""
    questions = order["dials"]
    answers: list[Order] = [{} for _ in questions]
    todo = iter(range(len(questions)))

    def some() -> None:
        for index in todo:
            answers[index] = dial(questions[index])

    threads = [threading.Thread(target=some) for _ in range(min(AT_ONCE, len(questions)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"answers": answers}


def tally(order: Order) -> Order:
    """The same dial many times, one after the other: who answered how often."""
    began = time.monotonic()
    answered: Counter[str] = Counter()
    for _ in range(order["times"]):
        answer = dial(order["dial"])
        answered[answer.get("at", answer["outcome"])] += 1
    return {"answered": answered, "seconds": time.monotonic() - began}


def until(order: Order) -> Order:
    """The same dial until its outcome is the one wanted, or the deadline has passed."""
    deadline = time.monotonic() + order["seconds"]
    while True:
        answer = dial(order["dial"])
        matches = all(answer.get(key) == value for key, value in order["wanted"].items())
        if matches or time.monotonic() > deadline:
            return {"answer": answer, "came": matches}
        time.sleep(BREATH)


def farewell(order: Order) -> Order:
    """Dials until one server has not answered for a while: when did it answer last?

    Says "watching" once that server has been heard, so that whoever takes it away knows when to.
    """
    deadline = time.monotonic() + order["seconds"]
    last, since, count = 0, 0, 0
    answer: Order = {}
    others: Counter[str] = Counter()
    watching = False
    while since < order["absent"] and time.monotonic() < deadline:
        answer = dial(order["dial"])
        count += 1
        if answer.get("name") == order["name"]:
            # The kernel chose when the connection began, not when its answer was read.
            last, since, others = answer["began"], 0, Counter()
            if not watching:
                watching = True
                tell({"watching": time.monotonic_ns()})
        elif watching:
            since += 1
            others[str(answer.get("name", answer["outcome"]))] += 1
    return {"last": last, "gone": since >= order["absent"], "count": count, "afterwards": others}


def open_stream(order: Order) -> Order:
    """A connection that stays open until somebody asks after it."""
    try:
        held[order["stream"]] = hold(order["dial"])
    except OSError as error:
        return {"error": str(error)}
    return {"outcome": ARRIVED}


def ask_stream(order: Order) -> Order:
    """Is a held connection still alive?"""
    try:
        return {"outcome": ARRIVED, "text": say(held[order["stream"]])}
    except OSError as error:
        return {"error": str(error)}


DEEDS: dict[str, Callable[[Order], Order]] = {
    "move in": move_in,
    "dials": dials,
    "tally": tally,
    "until": until,
    "farewell": farewell,
    "open stream": open_stream,
    "ask stream": ask_stream,
}


def tell(answer: Order) -> None:
    """One line for whoever is in charge."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Does what it is told until nobody is left to tell it."""
    # Ctrl-C reaches the whole terminal; the one in charge decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        order = json.loads(line)
        tell(DEEDS[order["do"]](order))
