"""An address with a port, as text."""

from kubeproxy.api.addresses import parse_ip


def split_host_port(text: str) -> tuple[str, str] | None:
    """Host and port, neither of them checked; None when the text does not have that shape."""
    host, colon, port = text.rpartition(":")
    if not colon or set("[]") & set(port):
        return None
    if host.startswith("["):
        host, bracket, rest = host[1:].partition("]")
        return None if not bracket or rest or set("[]") & set(host) else (host, port)
    return None if ":" in host or set("[]") & set(host) else (host, port)


def with_port(address: str, port: int) -> str:
    """The address with a port of its own or else this one; text that is no address stays as it is.

    What is no address is left alone so that the complaint about it can show what the operator wrote.
    """
    if split_host_port(address) is not None or parse_ip(address) is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
