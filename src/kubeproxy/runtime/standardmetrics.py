"""What every component of a cluster tells about itself: which build it is, and which features are on."""

import platform
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kubeproxy.config.gates import Stage, gate_enabled, gates
from kubeproxy.config.release import KUBERNETES_VERSION
from kubeproxy.runtime.metrics import Counter as Count
from kubeproxy.runtime.metrics import Metric, Metrics, Sample
from kubeproxy.runtime.processmetrics import Constant, process_metrics

_STAGES: Final = {Stage.GA: ""}
_BUILD: Final = (
    "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, "
    "build date, Go version, and compiler from which Kubernetes was built, and platform on which it is "
    "running."
)


def build_labels() -> dict[str, str]:
    """The release this one stands in for, and what runs it."""
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "build_date": "",
        "compiler": platform.python_implementation(),
        "git_commit": "",
        "git_tree_state": "",
        "git_version": KUBERNETES_VERSION,
        "go_version": f"python{platform.python_version()}",
        "major": major,
        "minor": minor,
        "platform": f"{sys.platform}/{machine}",
    }


def add_standard_metrics(metrics: Metrics, given: Mapping[str, bool]) -> None:
    """`given`: the gates the operator switched."""
    for metric in (*process_metrics(), *_component(given, metrics)):
        metrics.add(metric)


def _component(given: Mapping[str, bool], declared: Iterable[Metric]) -> list[Metric]:
    unexpected = "The count of unexpected categorizations during cardinality enforcement."
    return [
        Constant("kubernetes_build_info", f"[BETA] {_BUILD}", (build_labels(),)),
        Features(given),
        Count("cardinality_enforcement_unexpected_categorizations_total", f"[ALPHA] {unexpected}"),
        Count("disabled_metrics_total", "[BETA] The count of disabled metrics."),
        Count("hidden_metrics_total", "[BETA] The count of hidden metrics."),
        Registered(declared),
    ]


class Features(Metric):
    """Every gate there is, and whether it is open."""

    kind = "gauge"

    def __init__(self, given: Mapping[str, bool]) -> None:
        text = "[BETA] This metric records the data about the stage and enablement of a k8s feature."
        super().__init__("kubernetes_feature_enabled", text)
        self._given = given

    def samples(self) -> Iterator[Sample]:
        for name, gate in sorted(gates().items()):
            stage = _STAGES.get(gate.stage, gate.stage.name)
            yield Sample("", (("name", name), ("stage", stage)), float(gate_enabled(self._given, name)))


class Registered(Metric):
    """How many metrics there are of each stability."""

    kind = "counter"

    def __init__(self, declared: Iterable[Metric]) -> None:
        text = "[BETA] The count of registered metrics broken by stability level and deprecation version."
        super().__init__("registered_metrics_total", text)
        self._declared = declared

    def samples(self) -> Iterator[Sample]:
        levels = Counter(
            metric.text.partition("]")[0][1:] for metric in self._declared if metric.text[0] == "["
        )
        for level, count in sorted(levels.items()):
            yield Sample("", (("deprecated_version", ""), ("stability_level", level)), count)
