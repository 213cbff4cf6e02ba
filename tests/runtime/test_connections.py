"""The small HTTP server, over a real socket: what a connection looks like from its first byte to its end."""

import asyncio
import re

import pytest

from kubeproxy.runtime.http import TEXT, Answer, Request, Server, listening

BAD = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"


async def echo(request: Request) -> Answer:
    if request.path == "/fault":
        raise RuntimeError("a page that fails")
    return Answer(200, f"{request.method} {request.path}?{request.query} {request.body.decode()}".encode())


async def _converse(sent: bytes) -> str:
    sock = listening("127.0.0.1", 0)
    server = Server(echo)
    await server.listen([sock])
    try:
        reader, writer = await asyncio.open_connection(*sock.getsockname())
        writer.write(sent)
        writer.write_eof()
        said = await asyncio.wait_for(reader.read(), 10)
        writer.close()
    finally:
        await server.close()
    return said.decode()


def converse(*requests: str) -> str:
    """All that comes back on one connection, without the dates."""
    said = asyncio.run(_converse("".join(requests).replace("\n", "\r\n").encode()))
    return re.sub(r"Date: [^\r]+\r\n", "", said)


def answered(body: str, *more: str) -> str:
    head = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *more]
    return "\r\n".join([*head, "", body])


GET = "GET /{} HTTP/1.1\nHost: a\n\n"
CLOSE = "GET /{} HTTP/1.1\nHost: a\nConnection: close\n\n"


def test_several_requests_share_a_connection():
    said = converse(GET.format("a?x=1"), GET.format("b"), CLOSE.format("c"), GET.format("never"))
    assert said == (
        answered("GET /a?x=1 ") + answered("GET /b? ") + answered("GET /c? ", "Connection: close")
    )


def test_a_body_is_read_by_its_length_and_by_chunks():
    said = converse(
        "PUT /a HTTP/1.1\nHost: a\nContent-Length: 3\n\nabc",
        "PUT /b HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n2\nde\n1;x=y\nf\n0\n\n",
    )
    assert said == answered("PUT /a? abc") + answered("PUT /b? def")


def test_who_waits_to_be_asked_for_the_body_is_asked():
    said = converse("PUT /a HTTP/1.1\nHost: a\nExpect: 100-continue\nContent-Length: 1\n\nx")
    assert said == "HTTP/1.1 100 Continue\r\n\r\n" + answered("PUT /a? x")


@pytest.mark.parametrize(
    "request_text",
    [
        "foo\n\n",
        "GET /proxyMode\n\n",
        "GET / HTTP/2.0\nHost: a\n\n",
        "GET / HTTP/1.1\nHost: a\nno colon\n\n",
        "GET / HTTP/1.1\nHost: a\nContent-Length: x\n\n",
        "GET / HTTP/1.1\nHost: a\nContent-Length: 99999999\n\n",
        "GET / HTTP/1.1\nHost: a\nTransfer-Encoding: gzip\n\n",
        "GET / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\nzz\n\n",
        "GET / HTTP/1.1\nHost: a\n" + "X: y\n" * 5000 + "\n",
        "GET /" + "x" * 40000 + " HTTP/1.1\nHost: a\n\n",
        "GET http://[::1/ HTTP/1.1\nHost: a\n\n",
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_ends(request_text):
    assert converse(request_text, GET.format("never")) == BAD


def test_a_request_without_a_host_is_told_what_it_lacks():
    said = "400 Bad Request: missing required Host header"
    assert converse("GET / HTTP/1.1\n\n").replace(said, "400 Bad Request") == BAD


def test_a_page_that_fails_is_one_page_that_fails(capsys):
    said = converse(GET.format("fault"), GET.format("b"))
    head, _, rest = said.partition("\r\n\r\n")
    assert head.split("\r\n")[0] == "HTTP/1.1 500 Internal Server Error"
    assert set(head.split("\r\n")[1:3]) == {f"{name}: {value}" for name, value in TEXT}
    assert rest == "internal error\n" + answered("GET /b? ")
    assert '"A page could not be made" err="a page that fails" path="/fault"' in capsys.readouterr().err


def test_a_client_that_hangs_up_in_the_middle_harms_nobody():
    assert converse("GET / HTTP/1.1\nHos") == BAD
    assert converse("") == ""
