"""The command: a verb when the first word is one, else the daemon, as a drop-in must start."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

#: each verb's module has `main(arguments) -> exit code`; only the one in use is loaded
VERBS = {
    "render": "kubeproxy.cli.render",
    "explain": "kubeproxy.cli.explain",
    "demo": "kubeproxy.cli.demo",
}


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    module, rest = "kubeproxy.cli.serve", arguments
    if arguments and arguments[0] in VERBS:
        module, rest = VERBS[arguments[0]], arguments[1:]
    run: Callable[[Sequence[str]], int] = import_module(module).main
    try:
        return run(rest)
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does; there is nobody left to tell.
        sys.stderr.close()
        return 1


if __name__ == "__main__":
    sys.exit(main())
