"""Requests and heads of answers, byte for byte."""

import pytest

from kubeproxy.sources.http.failure import Garbled
from kubeproxy.sources.http.message import Head, parse_head, request_bytes


def test_a_request_is_these_bytes() -> None:
    sent = request_bytes("GET", "/api?watch=true", [("Host", "api"), ("Accept", "application/json")])
    assert sent == b"GET /api?watch=true HTTP/1.1\r\nHost: api\r\nAccept: application/json\r\n\r\n"
    assert request_bytes("POST", "/", [], b"{}").endswith(b"\r\n\r\n{}")


@pytest.mark.parametrize("bad", ["a\r\nX: y", "a\nb", "a\0b"])
def test_nobody_slips_a_header_into_another(bad: str) -> None:
    with pytest.raises(ValueError, match="line break"):
        request_bytes("GET", "/", [("Authorization", bad)])
    with pytest.raises(ValueError, match="line break"):
        request_bytes("GET", bad, [])


@pytest.mark.parametrize(
    ("text", "head"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", Head(200, "OK", {}, False)),
        (b"HTTP/1.1 200\r\n\r\n", Head(200, "", {}, False)),
        (
            b"HTTP/1.1 410 Gone\r\nContent-Type:application/json \r\nX-A: 1\r\nx-a: 2\r\n\r\n",
            Head(410, "Gone", {"content-type": "application/json", "x-a": "1, 2"}, False),
        ),
        (
            b"HTTP/1.1 200 OK\r\nConnection: keep-alive, Close\r\n\r\n",
            Head(200, "OK", {"connection": "keep-alive, Close"}, True),
        ),
        (b"HTTP/1.0 200 OK\r\n\r\n", Head(200, "OK", {}, True)),
        (
            b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n",
            Head(200, "OK", {"connection": "Keep-Alive"}, False),
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
            Head(200, "OK", {"content-length": "5"}, False),
        ),
    ],
)
def test_a_head_is_read(text: bytes, head: Head) -> None:
    assert parse_head(text) == head


@pytest.mark.parametrize(
    "text",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nblank in name : 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    ],
)
def test_what_is_no_head_is_refused(text: bytes) -> None:
    with pytest.raises(Garbled):
        parse_head(text)
