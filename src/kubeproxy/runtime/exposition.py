"""Metrics → the text that scrapers read."""

from collections.abc import Iterable

from kubeproxy.runtime.metrics import Metric, Sample, number

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


def exposition(metrics: Iterable[Metric]) -> str:
    """A metric without a value yet is left out, as dashboards expect."""
    return "".join(_metric(metric) for metric in metrics)


def _metric(metric: Metric) -> str:
    lines = [f"{metric.name}{_sample(sample)}\n" for sample in metric.samples()]
    if not lines:
        return ""
    text = metric.text.replace("\\", "\\\\").replace("\n", "\\n")
    return f"# HELP {metric.name} {text}\n# TYPE {metric.name} {metric.kind}\n{''.join(lines)}"


def _sample(sample: Sample) -> str:
    labels = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in sample.labels)
    braces = f"{{{labels}}}" if labels else ""
    return f"{sample.suffix}{braces} {number(sample.value)}"
