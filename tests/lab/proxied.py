"""A stage with the real daemon on node-a, for tests: manifests given as objects, ready when it answers."""

import contextlib
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from kubeproxy.cli.demo_oracle import Oracle
from kubeproxy.cli.demo_proxy import KUBE_PROXY, Files, start
from kubeproxy.cli.stage.layout import Layout
from kubeproxy.cli.stage.questions import Answer, Dial
from kubeproxy.cli.stage.stage import Stage
from kubeproxy.packets.packet import Outcome, Story

CONFIG = {
    "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
    "kind": "KubeProxyConfiguration",
    "mode": "iptables",
    "detectLocalMode": "ClusterCIDR",
    "clusterCIDR": "10.244.0.0/16,fd00:10:244::/48",
    "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
}
#: how long nothing must happen to count as dropped, and how long something may take on a busy machine
SILENCE, PATIENCE = 0.8, 6.0


class Proxied:
    """The stage, the daemon and its manifests on it, and what the oracle tells of them."""

    def __init__(self, stage: Stage, files: Files, node: str, ready: Iterable[Dial]) -> None:
        self.stage, self.files, self.node, self.ready = stage, files, node, tuple(ready)
        self.daemon = self.start()

    @property
    def oracle(self) -> Oracle:
        """What should happen, given the manifests as they are now."""
        return Oracle(self.files, self.stage.layout)

    def start(self) -> "subprocess.Popen[str]":
        """Starts a daemon, and returns when it is ready."""
        argv = [*KUBE_PROXY, *self.files.options(), "--proxy-mode", "iptables"]
        return start(self.stage, self.node, argv, self.files.log, self.ready)

    def write(self, manifests: Iterable[dict[str, Any]]) -> None:
        """Replaces all manifests at one moment."""
        draft = self.files.folder / "draft.yaml"
        draft.write_text(yaml.safe_dump_all(list(manifests)))
        draft.rename(self.files.manifests / "lab.yaml")

    def play(self, dials: Iterable[Dial]) -> list[tuple[Story, Answer, str]]:
        """Sends all packets; each with its story, and how it differs from it, or nothing."""
        dials = list(dials)
        oracle = self.oracle
        stories = [oracle.story(dial) for dial in dials]
        waiting = [
            replace(dial, timeout=SILENCE if story.outcome is Outcome.DROPPED else PATIENCE)
            for dial, story in zip(dials, stories, strict=True)
        ]
        answers = self.stage.dial(waiting)
        lies = map(oracle.lies, stories, answers, dials)
        return list(zip(stories, answers, lies, strict=True))


@contextlib.contextmanager
def proxied(
    folder: Path,
    layout: Layout,
    manifests: Iterable[dict[str, Any]],
    ready: Iterable[Dial],
    node: str = "node-a",
    **config: Any,
) -> Iterator[Proxied]:
    """The daemon runs in one of the rooms, which is a node; `config` are fields of its configuration."""
    files = Files(folder)
    files.manifests.mkdir(parents=True)
    (files.manifests / "lab.yaml").write_text(yaml.safe_dump_all(list(manifests)))
    files.config.write_text(yaml.safe_dump({**CONFIG, "hostnameOverride": node, **config}))
    with Stage(layout) as stage:
        yield Proxied(stage, files, node, ready)
