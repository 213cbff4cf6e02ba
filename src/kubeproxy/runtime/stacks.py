"""Where every thread is, and what every task of the event loop waits for."""

import asyncio
import io
import sys
import threading
import traceback


def stacks() -> str:
    out = io.StringIO()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        out.write(f"thread {names.get(ident, ident)}\n")
        out.writelines(traceback.format_stack(frame))
        out.write("\n")
    for task in sorted(_tasks(), key=lambda task: task.get_name()):
        out.write(f"task {task.get_name()}\n")
        task.print_stack(file=out)
        out.write("\n")
    return out.getvalue()


def _tasks() -> set["asyncio.Task[object]"]:
    try:
        return asyncio.all_tasks()
    except RuntimeError:
        return set()
