"""Whom we believe, and what we show: TLS settings, made anew when a file behind them changed."""

import os
import ssl
from pathlib import Path
from typing import Final

from kubeproxy.sources.apiserver.access import Access
from kubeproxy.sources.apiserver.execplugin import Credential
from kubeproxy.sources.http.dial import tls_words
from kubeproxy.sources.http.failure import Distrusted

_PEM: Final = "write certificates as PEM: they begin with -----BEGIN CERTIFICATE-----"
_PAIR: Final = "see that certificate and key are PEM and belong together"
_READABLE: Final = "see that the file is there and can be read; it is tried again"


class Trust:
    """Hands out the very same context as long as nothing behind it changed.

    Files are compared by content: a certificate is often replaced by swapping a symbolic link, and a clock
    that jumps must not hide that.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._made_of: tuple[bytes | None, bytes, bytes] | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, credential: Credential) -> ssl.SSLContext | None:
        """None where the server is spoken to without TLS."""
        access = self._access
        if not access.server.secure:
            return None
        authority = self._authority()
        made_of = (authority, credential.certificate, credential.key)
        if self._context is None or made_of != self._made_of:
            self._context = _context(access, authority, credential)
            self._made_of = made_of
        return self._context

    def _authority(self) -> bytes | None:
        """Whose certificates are believed; None means those the system knows."""
        access = self._access
        if access.insecure or access.ca_data or not access.ca_file:
            return access.ca_data or None
        try:
            return Path(access.ca_file).read_bytes()
        except OSError as error:
            if access.ca_optional:
                return None
            said = f"the certificate authority {access.ca_file} cannot be read: {error.strerror or error}"
            raise Distrusted(said, _READABLE) from error


def _context(access: Access, authority: bytes | None, credential: Credential) -> ssl.SSLContext:
    # Not the default context: newer Pythons make it so strict that certificates of real clusters fail.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authority is None:
        context.load_default_certs()
    else:
        _believe(context, authority)
    if credential.certificate:
        _show(context, credential)
    return context


def _believe(context: ssl.SSLContext, authority: bytes) -> None:
    try:
        context.load_verify_locations(cadata=authority.decode("ascii", errors="ignore"))
    except ssl.SSLError as error:
        raise Distrusted(f"the certificate authority is none: {tls_words(error)}", _PEM) from error
    except ValueError as error:
        raise Distrusted("the certificate authority is empty", _PEM) from error
    if not context.cert_store_stats()["x509"]:
        raise Distrusted("there is no certificate in the certificate authority", _PEM)


def _show(context: ssl.SSLContext, credential: Credential) -> None:
    """OpenSSL takes keys only from files; this one is never on a disk."""
    file = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(file), "wb") as pair:
            pair.write(credential.certificate + b"\n" + credential.key + b"\n")
        context.load_cert_chain(f"/proc/self/fd/{file}", password=_no_password)
    except ssl.SSLError as error:
        raise Distrusted(f"our certificate cannot be used: {tls_words(error)}", _PAIR) from error
    finally:
        os.close(file)


def _no_password() -> str:
    """Without this OpenSSL would ask the terminal."""
    return ""
