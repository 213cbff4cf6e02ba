"""Metrics → io.prometheus.client.MetricFamily messages, each with its length before it.

Some scrapers ask for this form. The messages are small and their shape is fixed, so they are packed by hand.
"""

import struct
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from kubeproxy.runtime.metrics import Histogram, Metric, Sample

CONTENT_TYPE = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
_KINDS: Final = {"counter": 0, "gauge": 1, "histogram": 4}
#: in which field of a Metric message the value of a kind stands
_VALUE_FIELDS: Final = {"counter": 3, "gauge": 2}
_VARINT, _DOUBLE, _BYTES = 0, 1, 2


def delimited(metrics: Iterable[Metric]) -> bytes:
    """A metric without a value yet is left out."""
    return b"".join(_varint(len(family)) + family for metric in metrics for family in _family(metric))


def _family(metric: Metric) -> Iterator[bytes]:
    values = list(_histograms(metric) if isinstance(metric, Histogram) else _numbers(metric))
    if values:
        head = _text(1, metric.name) + _text(2, metric.text) + _key(3, _VARINT) + _varint(_KINDS[metric.kind])
        yield head + b"".join(_message(4, value) for value in values)


def _numbers(metric: Metric) -> Iterator[bytes]:
    field = _VALUE_FIELDS[metric.kind]
    for sample in metric.samples():
        yield _labels(sample.labels) + _message(field, _double(1, sample.value))


def _histograms(metric: Histogram) -> Iterator[bytes]:
    for labels, group in groupby(metric.samples(), key=_without_bound):
        yield _labels(labels) + _message(7, _histogram(list(group)))


def _histogram(samples: list[Sample]) -> bytes:
    parts = {sample.suffix: sample.value for sample in samples if sample.suffix != "_bucket"}
    message = _key(1, _VARINT) + _varint(int(parts["_count"])) + _double(2, parts["_sum"])
    for sample in samples:
        if sample.suffix == "_bucket":
            bound = float(dict(sample.labels)["le"].replace("+Inf", "inf"))
            count = _key(1, _VARINT) + _varint(int(sample.value))
            # The last bucket is the count itself: readers of this form add it.
            message += b"" if bound == float("inf") else _message(3, count + _double(2, bound))
    return message


def _without_bound(sample: Sample) -> tuple[tuple[str, str], ...]:
    return tuple(label for label in sample.labels if label[0] != "le")


def _labels(labels: Iterable[tuple[str, str]]) -> bytes:
    return b"".join(_message(1, _text(1, name) + _text(2, value)) for name, value in labels)


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _message(field: int, payload: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(payload)) + payload


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _double(field: int, number: float) -> bytes:
    return _key(field, _DOUBLE) + struct.pack("<d", number)
