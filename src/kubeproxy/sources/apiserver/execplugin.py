"""A program that says who we are: run without a shell, and believed until what it said expires."""

import asyncio
import json
import os
import time
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproxy.sources.apiserver.access import Access, Plugin
from kubeproxy.sources.http.failure import Distrusted
from kubeproxy.sources.http.url import Url

#: how long a plugin may take, and how much it may say
PATIENCE: Final = 60.0
LONGEST: Final = 1024 * 1024
_INFO: Final = "KUBERNETES_EXEC_INFO"
_RUN_IT: Final = "run it by hand as this user, and correct the kubeconfig or the program"


class Credential(Struct, frozen=True):
    """Who we are: headers to send, and a certificate to show, both as PEM."""

    headers: tuple[tuple[str, str], ...] = ()
    certificate: bytes = b""
    key: bytes = b""
    #: seconds since 1970, or None: until it is refused
    expires: float | None = None


class _Status(Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Said(Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


async def ask_plugin(plugin: Plugin, access: Access) -> Credential:
    """Run the plugin once; Distrusted with what is wrong with it or with what it said."""
    environment = {**os.environ, **dict(plugin.env), _INFO: json.dumps(exec_info(plugin, access))}
    status, said, complained = await _run(plugin, environment)
    if status:
        words = complained.decode(errors="replace").strip().rpartition("\n")[2][:200]
        raise _wrong(plugin, f"it ended with status {status}{f': {words}' if words else ''}")
    return understood(plugin, said)


def exec_info(plugin: Plugin, access: Access) -> dict[str, Any]:
    """What the plugin is told; it cannot ask anybody anything, because nobody sits here."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.tells_cluster:
        told = {
            "server": str(access.server),
            "tls-server-name": access.server_name,
            "insecure-skip-tls-verify": access.insecure,
            "certificate-authority-data": b64encode(_authority(access)).decode(),
            "proxy-url": _proxy(access.proxy),
            "disable-compression": not access.compress,
            "config": plugin.config,
        }
        spec["cluster"] = {name: value for name, value in told.items() if value}
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def understood(plugin: Plugin, said: bytes) -> Credential:
    """A plugin's answer as a Credential."""
    try:
        answer = msgspec.json.decode(said, type=_Said)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise _wrong(plugin, f"what it prints is no ExecCredential: {error}") from error
    if (answer.kind, answer.api_version) != ("ExecCredential", plugin.api_version):
        found = f"{answer.kind or 'nothing'} of {answer.api_version or 'no version'}"
        raise _wrong(plugin, f"it prints {found}, not an ExecCredential of {plugin.api_version}")
    status = answer.status or _Status()
    certificate, key = status.client_certificate_data, status.client_key_data
    if bool(certificate) != bool(key):
        raise _wrong(plugin, "it prints only one of clientCertificateData and clientKeyData")
    if not (status.token.strip() or certificate):
        raise _wrong(plugin, "it prints neither a token nor a certificate")
    token = status.token.strip()
    if not token.isprintable():
        raise _wrong(plugin, "its token has characters that cannot be sent")
    expires = status.expiration_timestamp
    if expires is not None and expires.tzinfo is None:
        expires = expires.replace(tzinfo=UTC)
    return Credential(
        headers=(("Authorization", f"Bearer {token}"),) if token else (),
        certificate=certificate.encode(),
        key=key.encode(),
        expires=None if expires is None else expires.timestamp(),
    )


def fresh(credential: Credential) -> bool:
    return credential.expires is None or time.time() < credential.expires


async def _run(plugin: Plugin, environment: dict[str, str]) -> tuple[int, bytes, bytes]:
    try:
        child = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        hint = f" ({plugin.install_hint.strip()})" if plugin.install_hint else ""
        raise _wrong(plugin, f"it cannot be run: {(error.strerror or str(error)).lower()}{hint}") from error
    assert child.stdout is not None and child.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE):
            said, complained = await asyncio.gather(_all(child.stdout), _all(child.stderr))
            status = await child.wait()
    except TimeoutError as error:
        raise _wrong(plugin, f"it does not end within {PATIENCE:g} s") from error
    finally:
        if child.returncode is None:
            child.kill()
    return status, said, complained


async def _all(stream: asyncio.StreamReader) -> bytes:
    """What there is to read, of which only so much is kept."""
    kept = bytearray()
    while piece := await stream.read(64 * 1024):
        kept += piece[: LONGEST - len(kept)]
    return bytes(kept)


def _authority(access: Access) -> bytes:
    if access.ca_data or not access.ca_file:
        return access.ca_data
    try:
        return Path(access.ca_file).read_bytes()
    except OSError:
        return b""


def _proxy(proxy: Url | None) -> str:
    return str(proxy) if proxy is not None else ""


def _wrong(plugin: Plugin, why: str) -> Distrusted:
    return Distrusted(f"the credential plugin {plugin.command} does not help: {why}", _RUN_IT)
