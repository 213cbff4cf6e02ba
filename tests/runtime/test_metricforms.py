"""Metrics as text and as messages: two ways to say the same."""

import math
import re
import struct
from pathlib import Path

import pytest

from kubeproxy.runtime.exposition import exposition
from kubeproxy.runtime.metrics import Counter, Gauge, Histogram, Metrics, Observed, number
from kubeproxy.runtime.processmetrics import process_metrics
from kubeproxy.runtime.protobuf import delimited
from kubeproxy.runtime.restmetrics import RestMetrics
from kubeproxy.runtime.standardmetrics import add_standard_metrics


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (1.0, "1"), (-1.5, "-1.5"), (0.001, "0.001"), (0.0001, "0.0001"), (0.00001, "1e-05"),
        (999999.0, "999999"), (1e6, "1e+06"), (1234567.0, "1.234567e+06"), (6.5839104e07, "6.5839104e+07"),
        (1.79512768281e09, "1.79512768281e+09"), (2.0**64, "1.8446744073709552e+19"), (1.572e-06, "1.572e-06"),
        (math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN"), (16.384, "16.384"), (0.1 + 0.2, "0.30000000000000004"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_scrapers_are_used_to(value, text):
    assert number(value) == text


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def read_message(data):
    """Field number and value of everything in a message, by the rules of the wire format."""
    found, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        else:
            assert key & 7 == 2
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        found.append((key >> 3, value))
    return found


def read_labels(message):
    pairs = [dict(read_message(value)) for field, value in message if field == 1]
    return ",".join(f'{pair[1].decode()}="{pair[2].decode()}"' for pair in pairs)


def text_of(name, kind, metric):
    """One Metric message as lines of the text format."""
    message = read_message(metric)
    labels = read_labels(message)
    braces = f"{{{labels}}}" if labels else ""
    if kind != 4:
        [(_, value)] = read_message(dict(message)[{0: 3, 1: 2}[kind]])
        return [f"{name}{braces} {number(value)}"]
    histogram = read_message(dict(message)[7])
    count, total = (next(value for field, value in histogram if field == n) for n in (1, 2))
    buckets = [dict(read_message(value)) for field, value in histogram if field == 3]
    bounds = [(number(bucket[2]), bucket[1]) for bucket in buckets] + [("+Inf", count)]
    comma = "," if labels else ""
    lines = [f'{name}_bucket{{{labels}{comma}le="{bound}"}} {seen}' for bound, seen in bounds]
    return [*lines, f"{name}_sum{braces} {number(total)}", f"{name}_count{braces} {count}"]


def read_families(data):
    """The whole answer, as the text format would say it."""
    lines, at = [], 0
    while at < len(data):
        length, at = read_varint(data, at)
        message, at = read_message(data[at : at + length]), at + length
        fields = dict(message)
        name, kind = fields[1].decode(), fields[3]
        lines.append(f"# HELP {name} {fields[2].decode()}")
        lines.append(f"# TYPE {name} {('counter', 'gauge', '', '', 'histogram')[kind]}")
        for field, value in message:
            lines += text_of(name, kind, value) if field == 4 else []
    return lines


def some():
    """One of each type, with and without labels, empty and full."""
    plain, labelled = Counter("a_total", "[ALPHA] plain"), Counter("b_total", "two", ("x", "y"))
    labelled.inc(2, y="1", x="ü")
    labelled.inc(3.5, y="2", x="a")
    gauge = Gauge("c", "gauge")
    gauge.set(-1e9)
    histogram = Histogram("d_seconds", "with labels", ("ip_family",), (0.5, 1, 300))
    for value in (0.2, 0.5, 0.7, 1000):
        histogram.observe(value, ip_family="IPv4")
    histogram.observe(1, ip_family="IPv6")
    bare = Histogram("e_seconds", "without", (), (1.0,))
    return [plain, labelled, gauge, histogram, bare, Observed("f", "asked", "gauge", lambda: 7.0)]


def test_both_forms_say_the_same():
    assert read_families(delimited(some())) == exposition(some()).splitlines()


def test_both_forms_say_the_same_of_all_there_is():
    metrics = Metrics()
    for metric in (*RestMetrics(), *some()):
        metrics.add(metric)
    metrics.sync.observe(0.3, ip_family="IPv4")
    assert read_families(delimited(metrics)) == exposition(metrics).splitlines()


def test_a_metric_without_a_value_is_left_out():
    silent = [Counter("a_total", "labelled", ("x",)), Observed("b", "unknown", "gauge", lambda: None)]
    assert exposition(silent) == ""
    assert delimited(silent) == b""


def test_what_the_text_format_gives_a_meaning_is_escaped():
    counter = Counter("a_total", 'back\\slash\nline "quoted"', ("x",))
    counter.inc(x='\\ \n "')
    assert exposition([counter]) == (
        '# HELP a_total back\\\\slash\\nline "quoted"\n# TYPE a_total counter\na_total{x="\\\\ \\n \\""} 1\n'
    )


def values(metrics):
    return {
        f"{metric.name}{''.join(value for _, value in sample.labels)}": sample.value
        for metric in metrics
        for sample in metric.samples()
    }


def test_the_process_tells_what_it_costs():
    found = values(process_metrics())
    status = dict(
        line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line
    )
    assert found["process_resident_memory_bytes"] == pytest.approx(
        int(status["VmRSS"].split()[0]) * 1024, rel=0.1
    )
    assert found["process_virtual_memory_bytes"] >= found["process_resident_memory_bytes"]
    assert 0 < found["process_cpu_seconds_total"] < 3600
    assert 3 <= found["process_open_fds"] < found["process_max_fds"]
    assert found["process_network_receive_bytes_total"] >= 0
    assert found["python_gc_collections_total2"] >= 0
    boot = float(re.search(r"^btime (\d+)$", Path("/proc/stat").read_text(), re.M)[1])
    assert boot < found["process_start_time_seconds"]
    assert found["process_virtual_memory_max_bytes"] > 0


def test_gates_and_their_stages_are_told():
    metrics = Metrics()
    add_standard_metrics(metrics, {"LoggingAlphaOptions": True, "KubeProxyIPVS": False})
    found = values(metrics)
    gates = {key: value for key, value in found.items() if key.startswith("kubernetes_feature_enabled")}
    assert len(gates) == 245
    assert gates["kubernetes_feature_enabledLoggingAlphaOptionsALPHA"] == 1
    assert gates["kubernetes_feature_enabledContextualLoggingBETA"] == 1
    assert gates["kubernetes_feature_enabledMultiCIDRServiceAllocator"] == 1
    assert gates["kubernetes_feature_enabledKubeProxyIPVSDEPRECATED"] == 0
    assert found["disabled_metrics_total"] == found["hidden_metrics_total"] == 0
    alpha = sum(metric.text.startswith("[ALPHA]") for metric in metrics)
    assert found["registered_metrics_totalALPHA"] == alpha


def test_requests_are_counted_by_what_became_of_them():
    rest = RestMetrics()
    where = {"verb": "GET", "host": "10.0.0.1:443"}
    rest.request(**where, code="200", seconds=0.03, sent=0, received=700)
    rest.request(**where, code="200")
    rest.request(**where, code="<error>", seconds=1.5)
    rest.throttled(**where, seconds=0.2)
    rest.retried(**where, code="429")
    text = exposition(rest)
    for line in (
        'rest_client_requests_total{code="200",host="10.0.0.1:443",method="GET"} 2',
        'rest_client_requests_total{code="<error>",host="10.0.0.1:443",method="GET"} 1',
        'rest_client_request_duration_seconds_bucket{host="10.0.0.1:443",verb="GET",le="0.1"} 1',
        'rest_client_request_duration_seconds_count{host="10.0.0.1:443",verb="GET"} 2',
        'rest_client_response_size_bytes_bucket{host="10.0.0.1:443",verb="GET",le="1024"} 1',
        'rest_client_rate_limiter_duration_seconds_sum{host="10.0.0.1:443",verb="GET"} 0.2',
        'rest_client_request_retries_total{code="429",host="10.0.0.1:443",verb="GET"} 1',
        "rest_client_exec_plugin_ttl_seconds +Inf",
    ):
        assert f"{line}\n" in text
    assert rest.sent.bounds == (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
    assert len(rest.plugin_ages.bounds) == 11
