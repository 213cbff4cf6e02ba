"""What a client sends, byte for byte, and on which connections."""

import asyncio

import pytest

from kubeproxy.sources.apiserver.client import Call
from kubeproxy.sources.apiserver.refusal import Refused
from kubeproxy.sources.http.failure import Cut
from tests.sources.apiserver.listening import client_of
from tests.sources.http.middlemen import saying, talking

JSON = b"Content-Type: application/json\r\n"
OK = b"HTTP/1.1 201 Created\r\n" + JSON + b"Content-Length: 2\r\n\r\n{}"
STATUS = b'{"kind":"Status","message":"slow\\n down","details":{"retryAfterSeconds":3}}'
EVENT = Call(path="/apis/events.k8s.io/v1/namespaces/default/events", method="POST", body=b'{"a":1}')


def test_a_body_is_sent_with_its_length_and_type() -> None:
    async def run() -> bytes:
        heard: list[bytes] = []
        async with talking(saying(OK, heard)) as port:
            client = client_of(f"http://127.0.0.1:{port}/prefix", token="t")
            async with client.ask(EVENT) as response:
                assert (response.status, await response.read_all(100, 1.0)) == (201, b"{}")
            client.close()
        return heard[0].replace(str(port).encode(), b"PORT")

    assert asyncio.run(run()) == (
        b"POST /prefix/apis/events.k8s.io/v1/namespaces/default/events HTTP/1.1\r\n"
        b"Host: 127.0.0.1:PORT\r\n"
        b"User-Agent: kube-proxy/test\r\n"
        b"Accept: application/json\r\n"
        b"Accept-Encoding: gzip\r\n"
        b"Authorization: Bearer t\r\n"
        b"Content-Type: application/json\r\n"
        b"Content-Length: 7\r\n\r\n"
    )


@pytest.mark.parametrize(("method", "outcome"), [("GET", "asked again"), ("POST", "cut")])
def test_a_kept_connection_that_was_closed_is_replaced_where_that_does_no_harm(
    method: str, outcome: str
) -> None:
    """A question can be asked twice. Something to be done might be done twice."""
    served = 0

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        served += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()
        # It goes exactly when it is asked again, so nobody can see it beforehand.
        await reader.readuntil(b"\r\n\r\n")

    async def run() -> str:
        async with talking(once) as port:
            client = client_of(f"http://127.0.0.1:{port}")
            call = Call(path="/", method=method)
            for _ in range(2):
                try:
                    async with client.ask(call) as response:
                        await response.read_all(100, 1.0)
                except Cut:
                    return "cut"
            client.close()
        return "asked again"

    assert asyncio.run(run()) == outcome
    assert served == (2 if outcome == "asked again" else 1)


@pytest.mark.parametrize(
    ("answer", "said", "by_server", "wait"),
    [
        (b"503 X\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy", "busy", False, 7),
        (b"500 X\r\nContent-Length: 0\r\n\r\n", "X", False, 0),
        (b"301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", "Moved", False, 0),
        (b"429 X\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", "X", False, 0),
        (
            b"504 X\r\nContent-Length: %d\r\n\r\n%b" % (len(STATUS), STATUS),
            "slow down",
            True,
            3,
        ),
        (b"404 X\r\nContent-Length: 90\r\n\r\ncut short", "X", False, 0),
    ],
)
def test_a_refusal_is_told_with_its_words(answer: bytes, said: str, by_server: bool, wait: int) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 " + answer)
        await writer.drain()
        writer.write_eof()
        await reader.read()

    async def run() -> Refused:
        async with talking(talk) as port:
            with pytest.raises(Refused) as caught:
                async with client_of(f"http://127.0.0.1:{port}").ask(Call(path="/")):
                    raise AssertionError
            return caught.value

    refused = asyncio.run(run())
    assert (str(refused), refused.by_server, refused.retry_after) == (said, by_server, wait)
    assert refused.code == int(answer[:3])
