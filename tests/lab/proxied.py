"""A stage with the real daemon on node-a, for tests: manifests given as objects, ready when it answers."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from kubeproxy.cli.demo_oracle import Oracle
from kubeproxy.cli.demo_proxy import KUBE_PROXY, Files, start
from kubeproxy.cli.stage.layout import Pod, cluster
from kubeproxy.cli.stage.questions import Answer, Dial
from kubeproxy.cli.stage.stage import Stage
from kubeproxy.packets.packet import Outcome, Story

CONFIG = {
    "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
    "kind": "KubeProxyConfiguration",
    "detectLocalMode": "ClusterCIDR",
    "clusterCIDR": "10.244.0.0/16,fd00:10:244::/48",
    "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
}
#: how long nothing must happen to count as dropped, and how long something may take on a busy machine
SILENCE, PATIENCE = 0.8, 6.0


class Proxied:
    """The stage, the manifests on it, and what the oracle tells of them."""

    def __init__(self, stage: Stage, files: Files, settings: dict[str, Any]) -> None:
        self.stage, self.files = stage, files
        self.oracle = Oracle(files.manifests, stage.layout, settings=settings)

    def play(self, dials: Iterable[Dial]) -> list[tuple[Story, Answer, str]]:
        """Sends all packets; each with its story, and how it differs from it, or nothing."""
        dials = list(dials)
        stories = [self.oracle.story(dial) for dial in dials]
        waiting = [
            replace(dial, timeout=SILENCE if story.outcome is Outcome.DROPPED else PATIENCE)
            for dial, story in zip(dials, stories, strict=True)
        ]
        answers = self.stage.dial(waiting)
        lies = map(self.oracle.lies, stories, answers, dials)
        return list(zip(stories, answers, lies, strict=True))


@contextlib.contextmanager
def proxied(
    folder: Path,
    pods: Iterable[Pod],
    manifests: Iterable[dict[str, Any]],
    ready: Iterable[Dial],
    config: dict[str, Any] | None = None,
    **settings: Any,
) -> Iterator[Proxied]:
    """`settings` are what the oracle must know of the configuration."""
    files = Files(folder)
    files.manifests.mkdir(parents=True)
    (files.manifests / "lab.yaml").write_text(yaml.safe_dump_all(list(manifests)))
    files.config.write_text(yaml.safe_dump({**CONFIG, **(config or {})}))
    argv = [*KUBE_PROXY, *files.options(), "--proxy-mode", "iptables", "--hostname-override", "node-a"]
    with Stage(cluster(tuple(pods))) as stage:
        start(stage, "node-a", argv, files.log, ready)
        yield Proxied(stage, files, settings)
