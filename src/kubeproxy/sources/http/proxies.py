"""Which proxy stands before a server, if any: the variables that every program on a host is given.

The rules are those of Go's programs, because one host sets the variables once for all of them.
"""

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import Final

from kubeproxy.sources.http.url import PORTS, Url, parse_url

SCHEMES: Final = frozenset(PORTS)


def proxy_for(server: Url, environ: Mapping[str, str]) -> Url | None:
    """The proxy for a server; ValueError with what is wrong with the variable that names it."""
    name = "HTTPS_PROXY" if server.secure else "HTTP_PROXY"
    text = _variable(environ, name)
    if not text or not _wanted(server, _variable(environ, "NO_PROXY")):
        return None
    try:
        return parse_url(text, "http", SCHEMES)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.lower(), "")


def _wanted(server: Url, exceptions: str) -> bool:
    """Whether a proxy is wanted; never for this host itself, whatever the variables say."""
    host = server.host.rstrip(".").lower()
    try:
        if host == "localhost" or ip_address(host).is_loopback:
            return False
    except ValueError:
        pass
    return not any(_matches(entry.strip().lower(), host, server.port) for entry in exceptions.split(","))


def _matches(entry: str, host: str, port: int) -> bool:
    """One entry of NO_PROXY: `*`, a network, an address or a domain, the latter two perhaps with a port."""
    if not entry:
        return False
    if entry == "*":
        return True
    if "/" in entry:
        return _in_network(entry, host)
    name, only_port = _split_port(entry)
    if only_port is not None and only_port != port:
        return False
    try:
        return ip_address(name) == ip_address(host)
    except ValueError:
        pass
    if name.startswith("*."):
        name = name[1:]
    if name.startswith("."):
        return host.endswith(name)
    return host == name or host.endswith(f".{name}")


def _in_network(entry: str, host: str) -> bool:
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        return False


def _split_port(entry: str) -> tuple[str, int | None]:
    """host:port, [v6]:port, or either without a port."""
    if entry.startswith("["):
        host, _, port = entry[1:].partition("]")
        port = port.removeprefix(":")
    elif entry.count(":") == 1:
        host, _, port = entry.partition(":")
    else:
        return entry, None
    return host, int(port) if port.isascii() and port.isdigit() else None
