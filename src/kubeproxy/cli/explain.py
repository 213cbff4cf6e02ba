"""`kube-proxy explain`: what happens to a packet on this node, and why."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kubeproxy.cli.explain_question import Question, Unclear, Who, read_question, read_sender
from kubeproxy.cli.options import Option, OptionError, split_options
from kubeproxy.cli.settings import Unusable, load
from kubeproxy.config.commandline import FlagError, parse
from kubeproxy.config.flags import flags
from kubeproxy.config.invocation import Invocation
from kubeproxy.routes.manners import CLASSIC, Manners

if TYPE_CHECKING:
    from kubeproxy.cli.explain_answer import Explanation
    from kubeproxy.cli.explain_scene import Scene

USAGE = """\
kube-proxy explain [--from SENDER] DESTINATION --manifests DIR [--config FILE] [--hostname-override NODE]

  DESTINATION   10.96.0.10:53/udp    an address, a port and tcp (usual), udp or sctp
                [fd00::a]:80         IPv6 with a port goes in brackets
                10.96.0.10           without a port: a ping
                shop/web, web:http   a Service: every address it has, or those of one port
  --from        pod, node, outside, localhost, or an address; who most likely would, if not said
  -o            text or json

Says what happens to such a packet on this node: which Service it is for, which field decided, which
endpoints may get it and why the others may not, and whom the pod sees. No packet is sent, and nothing is
asked of the kernel. Every flag of the daemon that shapes rules counts.
"""

_OPTIONS: Final = (Option("from"), Option("output", ("text", "json"), short="o"))
_EXAMPLE: Final = "10.96.0.10:80 --manifests cluster/"
#: bad questions have a code of their own, so that scripts can tell them from a bad configuration
BAD_QUESTION: Final = 2


class Mode(Struct, frozen=True):
    """What a dialect has to say: its manners, and the module that names the places a packet passes."""

    manners: Manners
    trail: str


MODES: Final = {"iptables": Mode(CLASSIC, "kubeproxy.backends.iptables.trail")}


class Request(Struct, frozen=True):
    """The command line, understood."""

    question: Question
    sender: Who | str | None
    as_json: bool
    invocation: Invocation


def main(arguments: Sequence[str]) -> int:
    try:
        request = read(arguments)
        if request is None:
            print(USAGE, end="")
            return 0
        scene = look(request.invocation)
        print(shown(explained(request, scene), as_json=request.as_json), end="")
    except (OptionError, FlagError) as error:
        print(f"kube-proxy explain: {Unclear(str(error), _EXAMPLE)}", file=sys.stderr)
        return BAD_QUESTION
    except Unclear as unclear:
        print(f"kube-proxy explain: {unclear}", file=sys.stderr)
        return BAD_QUESTION
    except Unusable:
        return 1
    return 0


def read(arguments: Sequence[str]) -> Request | None:
    """None when only help is asked for."""
    own, rest = split_options(arguments, _OPTIONS)
    line = parse(rest, flags())
    invocation = Invocation(given=line.given, warnings=line.warnings)
    if invocation.help:
        return None
    if len(line.words) != 1:
        said = f"one destination at a time, not {' '.join(line.words)}" if line.words else "where to?"
        raise Unclear(said, _EXAMPLE)
    question = read_question(line.words[0])
    sender = read_sender(own["from"]) if "from" in own else None
    if not invocation.manifests:
        raise Unclear("no cluster to look at; name a directory of manifests", _EXAMPLE)
    if not Path(invocation.manifests).is_dir():
        raise Unclear(f"{invocation.manifests!r} is no directory of manifests", _EXAMPLE)
    return Request(question, sender, own.get("output") == "json", invocation)


def look(invocation: Invocation) -> "Scene":
    """The cluster to ask about; today that is a directory of manifests."""
    from kubeproxy.cli.explain_scene import Scene
    from kubeproxy.cli.picture import picture
    from kubeproxy.sources.assemble import Ranges

    config = load(invocation)
    mode = MODES.get(config.mode)
    if mode is None:
        known = ", ".join(MODES)
        raise Unclear(
            f"mode {config.mode!r} cannot be explained yet, only {known}",
            f"--proxy-mode {next(iter(MODES))} {_EXAMPLE}",
        )
    return Scene(
        picture(invocation, config),
        config.mode,
        mode.manners,
        service_networks=invocation.service_cidrs or Ranges().service_cidrs,
        serves_external_ips=config.featureGates.get("AllowServiceExternalIPs", True),
    )


def explained(request: Request, scene: "Scene") -> "Explanation":
    from kubeproxy.cli.explain_answering import explain

    trail = import_module(MODES[scene.mode].trail).trail
    return explain(request.question, request.sender, scene, trail)


def shown(explanation: "Explanation", *, as_json: bool) -> str:
    if as_json:
        import msgspec

        return msgspec.json.format(msgspec.json.encode(explanation)).decode() + "\n"
    from kubeproxy.cli.explain_text import text

    return text(explanation)
