"""Asks the command about the hand-made cluster beside this file."""

import json
from pathlib import Path
from typing import Any

from kubeproxy.cli.main import main

MANIFESTS = Path(__file__).parent / "explain_manifests"
ON_NODE_A = (
    "--hostname-override=node-a",
    "--cluster-cidr=10.244.0.0/16,fd00:10:244::/56",
    "--proxy-mode=iptables",
)


def ask(question: str, *flags: str, cluster: Path = MANIFESTS) -> int:
    """The exit code; what is said is printed."""
    return main(["explain", *question.split(), f"--manifests={cluster}", *(flags or ON_NODE_A)])


def told(capsys: Any, question: str, *flags: str, cluster: Path = MANIFESTS) -> dict[str, Any]:
    """The whole explanation as programs get it."""
    assert ask(f"-o json {question}", *flags, cluster=cluster) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def only(capsys: Any, question: str, *flags: str) -> dict[str, Any]:
    """The one answer to a question about one address."""
    answers = told(capsys, question, *flags)["answers"]
    assert len(answers) == 1
    found: dict[str, Any] = answers[0]
    return found
