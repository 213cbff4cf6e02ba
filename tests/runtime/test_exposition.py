"""The text that scrapers read, byte by byte, and Go's way to write a number."""

import pytest

from kubeproxy.runtime.exposition import exposition
from kubeproxy.runtime.metrics import Counter, Gauge, Histogram, Metric, Metrics, Observed, number
from kubeproxy.runtime.servers import split_host_port
from tests.runtime.metricsport import Port

NUMBERS = [
    (0.0, "0"),
    (1.0, "1"),
    (-1.0, "-1"),
    (0.5, "0.5"),
    (0.1 + 0.2, "0.30000000000000004"),
    (0.0001, "0.0001"),
    (0.00012345, "0.00012345"),
    (0.00001, "1e-05"),
    (1.5e-7, "1.5e-07"),
    (5e-324, "5e-324"),
    (99999.0, "99999"),
    (100000.0, "100000"),
    (123456.5, "123456.5"),
    (999999.0, "999999"),
    (1e6, "1e+06"),
    (1234567.0, "1.234567e+06"),
    (-1234567.0, "-1.234567e+06"),
    (1.7e9, "1.7e+09"),
    (1700000000.1234567, "1.7000000001234567e+09"),
    (1e21, "1e+21"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    (float("inf"), "+Inf"),
    (float("-inf"), "-Inf"),
    (float("nan"), "NaN"),
]


@pytest.mark.parametrize(("value", "text"), NUMBERS)
def test_numbers_are_written_as_go_writes_them(value, text):
    assert number(value) == text


def counter() -> Metric:
    metric = Counter("requests_total", "Requests, by code", ("code",))
    metric.inc(code="503")
    metric.inc(code="200")
    metric.inc(2.0, code="200")
    return metric


def gauge() -> Metric:
    metric = Gauge("pending", "What waits")
    metric.inc(3)
    return metric


def histogram() -> Metric:
    """A value on a bound belongs to its bucket."""
    metric = Histogram("seconds", "How long", ("ip_family",), (0.25, 0.5, 1))
    for value in (0.25, 0.375, 0.75, 7.0):
        metric.observe(value, ip_family="IPv4")
    return metric


def escaped() -> Metric:
    metric = Gauge("odd", 'A backslash \\ and a\nnew line, and "quotes"', ("name",))
    metric.set(1, name='a\\b\n"c"')
    return metric


TEXTS = [
    (counter, '# HELP requests_total Requests, by code\n# TYPE requests_total counter\nrequests_total{code="200"} 3\nrequests_total{code="503"} 1\n'),
    (gauge, "# HELP pending What waits\n# TYPE pending gauge\npending 3\n"),
    (
        histogram,
        (
            "# HELP seconds How long\n# TYPE seconds histogram\n"
        'seconds_bucket{ip_family="IPv4",le="0.25"} 1\n'
        'seconds_bucket{ip_family="IPv4",le="0.5"} 2\n'
        'seconds_bucket{ip_family="IPv4",le="1"} 3\n'
        'seconds_bucket{ip_family="IPv4",le="+Inf"} 4\n'
        'seconds_sum{ip_family="IPv4"} 8.375\n'
        'seconds_count{ip_family="IPv4"} 4\n'
        ),
    ),
    (escaped, '# HELP odd A backslash \\\\ and a\\nnew line, and "quotes"\n# TYPE odd gauge\nodd{name="a\\\\b\\n\\"c\\""} 1\n'),
    (lambda: Observed("asked", "Asked when read", "counter", lambda: 7.0), "# HELP asked Asked when read\n# TYPE asked counter\nasked 7\n"),
    (lambda: Observed("asked", "Asked when read", "counter", lambda: None), ""),
    (lambda: Counter("never", "No label was ever seen", ("code",)), ""),
    (lambda: Counter("zero", "Without labels there is a zero"), "# HELP zero Without labels there is a zero\n# TYPE zero counter\nzero 0\n"),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "text"), TEXTS)
def test_a_metric_is_written_so(metric, text):
    assert exposition([metric()]) == text


def test_what_somebody_else_counts_only_grows():
    metric = Counter("total", "All of it")
    for total in (3.0, 5.0, 4.0):
        metric.advance_to(total)
    assert metric.values == {(): 5.0}


def test_a_gauge_keeps_the_last_value():
    metric = Gauge("last", "The last one", ("a", "b"))
    metric.set(3, b="2", a="1")
    metric.set(4, a="1", b="2")
    assert metric.values == {("1", "2"): 4}


@pytest.mark.parametrize("labels", [{}, {"a": "1"}, {"a": "1", "b": "2", "c": "3"}, {"a": "1", "c": "2"}])
def test_a_label_that_is_not_declared_is_a_defect(labels):
    with pytest.raises(TypeError):
        Gauge("strict", "Labels are declared", ("a", "b")).set(1, **labels)


def test_all_metrics_come_in_the_order_of_their_names():
    names = [line.split()[2] for line in exposition(Metrics()).splitlines() if line.startswith("# HELP")]
    assert names == sorted(names)


def ask(path: str) -> tuple[str, str, str]:
    """The first line, the type and the body."""
    head, _, body = Port("--proxy-mode=iptables").ask(f"GET {path} HTTP/1.1").partition("\n\n")
    first, *headers = head.split("\n")
    return first.partition(" ")[2], dict(line.split(": ", 1) for line in headers)["Content-Type"], body


PLAIN = "text/plain; charset=utf-8"
NOWHERE = ("404 Not Found", PLAIN, "404 page not found\n")


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/proxyMode", ("200 OK", PLAIN, "iptables")),
        ("/healthz", ("200 OK", PLAIN, "ok")),
        ("/healthz/ping", ("200 OK", PLAIN, "ok")),
        ("/", NOWHERE),
        ("/livez", NOWHERE),
    ],
)
def test_the_pages_of_the_metrics_port(path, answer):
    assert ask(path) == answer


def test_the_metrics_page_says_which_language_it_speaks():
    status, kind, body = ask("/metrics")
    assert (status, kind) == ("200 OK", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
    assert "# TYPE kubeproxy_sync_proxy_rules_service_changes_total counter\n" in body


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("0.0.0.0:10256", "0.0.0.0", 10256),
        ("[::]:10256", "::", 10256),
        ("[fe80::1]:1", "fe80::1", 1),
        (":80", "", 80),
    ],
)
def test_an_address_is_split_at_its_last_colon(address, host, port):
    assert split_host_port(address) == (host, port)
