"""What the metrics port answers, compared with what the original was seen to answer."""

import gzip
import json
import re

import pytest

from kubeproxy.config.difference import Difference
from kubeproxy.config.effective import effective_config
from kubeproxy.config.invocation import parse_flags
from kubeproxy.config.write import plain_config
from kubeproxy.runtime.logs import log
from tests.runtime.exchanges import BARE, EXCHANGES
from tests.runtime.metricsport import Port

_LENGTH = re.compile(r"Content-Length: \d+")


@pytest.mark.parametrize(("first", "headers", "answer"), EXCHANGES)
def test_every_exchange_is_the_originals(first, headers, answer):
    """Names, values and order of the headers, and the body, whole."""
    said = Port("--profiling").ask(first, headers)
    if "Content-Length: *" in answer:
        said = _LENGTH.sub("Content-Length: *", said)
    assert said == answer


def head_and_body(text):
    head, _, body = text.partition("\n\n")
    return head.split("\n"), body


def test_configz_shows_every_field_in_the_order_of_the_schema():
    words = ("--hostname-override=Node-A", "--cluster-cidr=10.1.0.0/16", "--nodeport-addresses=primary")
    head, body = head_and_body(Port(*words).ask("GET /configz HTTP/1.1"))
    assert head[:3] == [
        "HTTP/1.1 200 OK",
        "Content-Type: application/json",
        "X-Content-Type-Options: nosniff",
    ]
    shown = json.loads(body)["kubeproxy.config.k8s.io"]
    invocation = parse_flags(words)
    wanted = plain_config(effective_config(invocation, None))
    assert shown == wanted
    assert list(shown) == list(wanted)
    assert list(shown)[:2] == ["kind", "apiVersion"]
    assert (shown["hostnameOverride"], shown["nodePortAddresses"]) == ("node-a", ["primary"])
    assert body.startswith('{"kubeproxy.config.k8s.io":{"kind":"KubeProxyConfiguration","apiVersion":')


def test_the_default_configz_is_the_originals_to_the_byte():
    words = ("--hostname-override=node-a", "--conntrack-max-per-core=0", "--profiling", "-v=1")
    words += ("--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0")
    head, body = head_and_body(Port(*words).ask("GET /configz HTTP/1.1"))
    assert "Content-Length: 1455" in head
    assert body.endswith('"udpStreamTimeout":"0s"},"configSyncPeriod":"15m0s","portRange":""}}')


@pytest.mark.parametrize("accept", ["", "*/*", "text/*", "text/plain", "text/html,*/*;q=0.5"])
@pytest.mark.parametrize("page", ["flagz", "statusz"])
def test_people_get_text(page, accept):
    head, body = head_and_body(Port().ask(f"GET /{page} HTTP/1.1", f"Accept: {accept}" if accept else ""))
    assert head[:2] == ["HTTP/1.1 200 OK", "Content-Type: text/plain; charset=utf-8"]
    assert body.startswith(
        f"\nkube-proxy {page}\nWarning: This endpoint is not meant to be machine parseable"
    )


def test_flagz_tells_the_command_line_and_not_the_file():
    _, body = head_and_body(Port("--proxy-mode=iptables", "-v=3").ask("GET /flagz HTTP/1.1"))
    lines = body.split("\n")[3:-1]
    assert lines == sorted(lines, key=lambda line: line.partition(":")[0])
    assert {"proxy-mode: iptables", "v: 3", "kubeconfig: ", "cleanup: false"} <= set(lines)
    accept = "Accept: application/json;v=v1beta1;g=config.k8s.io;as=Flagz"
    head, body = head_and_body(Port("-v=3").ask("GET /flagz HTTP/1.1", accept))
    assert "Transfer-Encoding: chunked" in head
    assert '"flags": {\n    "bind-address": "0.0.0.0",\n' in body


def test_statusz_tells_how_long_it_runs():
    _, body = head_and_body(Port().ask("GET /statusz HTTP/1.1"))
    started, up, *_ = body.split("\n")[4:]
    assert re.fullmatch(r"Started: \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d UTC \d{4}", started)
    assert re.fullmatch(r"Up: \d+ hr \d\d min \d\d sec", up)
    assert body.endswith("Paths: /configz /flagz /healthz /metrics /proxyMode\n")


@pytest.mark.parametrize(("gate", "page"), [("ComponentFlagz", "/flagz"), ("ComponentStatusz", "/statusz")])
def test_a_gate_that_is_off_takes_its_page_away(gate, page):
    said = Port(f"--feature-gates={gate}=false").ask(f"GET {page} HTTP/1.1")
    assert said.startswith("HTTP/1.1 404 Not Found\n")


@pytest.mark.parametrize("page", ["/debug/pprof", "/debug/pprof/", "/debug/flags", "/debug/flags/v"])
def test_without_profiling_there_are_no_debug_pages(page):
    assert Port().ask(f"GET {page} HTTP/1.1").startswith("HTTP/1.1 404 Not Found\n")


def test_verbosity_can_be_turned_while_it_runs(monkeypatch):
    monkeypatch.setattr(log, "verbosity", 0)
    port = Port("--profiling")
    said = port.ask("PUT /debug/flags/v HTTP/1.1", body=b"4")
    text = "successfully set klog.logging.verbosity to 4\n"
    assert said == f"HTTP/1.1 200 OK\n{BARE}Content-Length: 45\n\n{text}"
    assert log.verbosity == 4
    said = port.ask("PUT /debug/flags/v HTTP/1.1", body=b"x")
    text = 'strconv.ParseUint: parsing "x": invalid syntax\n'
    assert said == f"HTTP/1.1 400 Bad Request\n{BARE}Content-Length: 47\n\n{text}"
    assert log.verbosity == 4


def test_the_debug_pages_tell_of_this_process():
    port = Port("--profiling")
    _, stacks = head_and_body(port.ask("GET /debug/pprof/goroutine HTTP/1.1"))
    assert "thread MainThread" in stacks
    assert "test_the_debug_pages_tell_of_this_process" in stacks
    _, profile = head_and_body(port.ask("GET /debug/pprof/profile?seconds=0.05 HTTP/1.1"))
    assert re.search(r";selectors\.\w+\.select:\d+ \d+$|;base_events\.\S+ \d+$", profile, re.M), profile
    _, heap = head_and_body(port.ask("GET /debug/pprof/heap?seconds=0 HTTP/1.1"))
    assert " bytes " in heap
    assert port.ask("GET /debug/pprof/threadcreate HTTP/1.1").endswith("\n\nUnknown profile\n")


def test_the_service_level_of_the_health_page_is_counted():
    port = Port()
    page = "GET /metrics/slis HTTP/1.1"
    assert "kubernetes_healthcheck{" not in port.ask(page)
    for query in ("", "?verbose", "?exclude=foo", "?exclude=ping"):
        port.ask(f"GET /healthz{query} HTTP/1.1")
    head, body = head_and_body(port.ask(page))
    assert head[:3] == [
        "HTTP/1.1 200 OK",
        "Content-Type: text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
        "Process-Start-Time-Unix: *",
    ]
    assert re.sub(r"\d\.\d+e\+09", "T", body) == (
        "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n"
        "# TYPE kubernetes_healthcheck gauge\n"
        'kubernetes_healthcheck{name="ping",type="healthz"} 1\n'
        "# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.\n"
        "# TYPE kubernetes_healthchecks_total counter\n"
        'kubernetes_healthchecks_total{name="ping",status="success",type="healthz"} 3\n'
        "# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch in seconds.\n"
        "# TYPE process_start_time_seconds gauge\n"
        "process_start_time_seconds T\n"
    )
    port.ask("DELETE /metrics/slis HTTP/1.1")
    assert head_and_body(port.ask(page))[1] == ""


TYPE = "Content-Type: text/plain; version=0.0.4; charset=utf-8; escaping="
BINARY = (
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping="
)
DELIMITED = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"


@pytest.mark.parametrize(
    ("accept", "answer"),
    [
        ("", f"{TYPE}underscores"),
        ("*/*", f"{TYPE}underscores"),
        ("foo/bar", f"{TYPE}underscores"),
        ("text/plain;version=1.0.0;escaping=allow-utf-8", f"{TYPE}allow-utf-8"),
        ("text/plain;version=0.0.4;escaping=allow-utf-8", f"{TYPE}allow-utf-8"),
        (DELIMITED, f"Content-Type: {BINARY}underscores"),
        (f"{DELIMITED};escaping=values", f"Content-Type: {BINARY}values"),
        (f"{DELIMITED};q=0.6,text/plain;version=0.0.4;q=0.9", f"{TYPE}underscores"),
        (
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
                "application/openmetrics-text;version=0.0.1;q=0.5,"
                "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
            ),
            f"{TYPE}allow-utf-8",
        ),
    ],
)
def test_scrapers_get_the_form_they_like(accept, answer):
    head = Port().raw(f"GET /metrics HTTP/1.1\nHost: a\nAccept: {accept}").partition(b"\r\n\r\n")[0].decode()
    assert head.split("\r\n")[1] == answer
    assert head.split("\r\n")[2].startswith("Process-Start-Time-Unix: ")


def chunk(raw):
    """The body of an answer that was sent in one chunk."""
    length, _, rest = raw.partition(b"\r\n\r\n")[2].partition(b"\r\n")
    assert rest.endswith(b"\r\n0\r\n\r\n")
    assert int(length, 16) == len(rest) - 7
    return rest[:-7]


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", True),
        ("deflate, gzip", True),
        ("zstd,gzip", True),
        ("gzip;q=0", False),
        ("*", False),
        ("zstd", False),
    ],
)
def test_metrics_are_packed_for_whom_can_unpack(coding, packed):
    raw = Port().raw(f"GET /metrics HTTP/1.1\nHost: a\nAccept-Encoding: {coding}")
    assert (b"Content-Encoding: gzip\r\n" in raw) is packed
    body = gzip.decompress(chunk(raw)) if packed else chunk(raw)
    assert body.startswith(b"# HELP cardinality_enforcement_unexpected_categorizations_total [ALPHA] ")
    assert body.endswith(b'stability_level="BETA"} 5\n')


def test_a_long_page_is_sent_in_chunks_and_its_head_alone_without_a_length():
    head, body = head_and_body(Port().ask("GET /metrics HTTP/1.1"))
    assert head[-1] == "Transfer-Encoding: chunked"
    assert body.endswith("\r\n0\r\n\r\n")
    head, body = head_and_body(Port().ask("HEAD /metrics HTTP/1.1"))
    assert (head[-1], body) == ("Date: *", "")


def test_what_the_file_says_differently_is_told_while_it_does():
    port = Port()
    port.standing.pending = (Difference("oomScoreAdj", "-999", "-5", live=False),)
    port.standing.problem = "mode: kernelspace is how Windows nodes do it"
    _, text = head_and_body(port.ask("GET /statusz HTTP/1.1"))
    assert text.endswith(
        "Pending config: oomScoreAdj: -999 → -5\nConfig problem: mode: kernelspace is how Windows nodes do it\n"
    )
    accept = "Accept: application/json;v=v1beta1;g=config.k8s.io;as=Statusz"
    record = json.loads(head_and_body(port.ask("GET /statusz HTTP/1.1", accept))[1].replace(": *", ": 0"))
    assert record["pendingConfig"] == [{"field": "oomScoreAdj", "running": "-999", "file": "-5"}]
    assert record["configProblem"] == "mode: kernelspace is how Windows nodes do it"
