"""Chain names: operators, node-local DNS, network plug-ins and scripts know them by heart."""

from enum import StrEnum
from functools import lru_cache
from hashlib import sha256

from kubeproxy.model.identity import PortName, Protocol

HASH_LENGTH = 16
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = tuple(a + b for a in _LETTERS for b in _LETTERS)


class Kind(StrEnum):
    """What a Service's own chain is for."""

    CLUSTER = "KUBE-SVC-"
    LOCAL = "KUBE-SVL-"
    EXTERNAL = "KUBE-EXT-"
    FIREWALL = "KUBE-FW-"
    ENDPOINT = "KUBE-SEP-"


#: a chain in nat whose name starts so belongs to some Service, of this proxy or an earlier one
SERVICE_CHAIN_PREFIXES = tuple(kind.value for kind in Kind)

SERVICES = "KUBE-SERVICES"
EXTERNAL_SERVICES = "KUBE-EXTERNAL-SERVICES"
NODE_PORTS = "KUBE-NODEPORTS"
PROXY_FIREWALL = "KUBE-PROXY-FIREWALL"
FORWARD = "KUBE-FORWARD"
FIREWALL = "KUBE-FIREWALL"
POSTROUTING = "KUBE-POSTROUTING"
MARK_MASQ = "KUBE-MARK-MASQ"
CANARY = "KUBE-PROXY-CANARY"

#: counters the kernel keeps for us, and operators graph
INVALID_COUNTER = "ct_state_invalid_dropped_pkts"
LOOPBACK_COUNTER = "localhost_nps_accepted_pkts"

PROTOCOL_WORD = {Protocol.TCP: "tcp", Protocol.UDP: "udp", Protocol.SCTP: "sctp"}


def hash_of(text: str) -> str:
    """The 16 characters that stand for a text in a chain name."""
    return letters(sha256(text.encode()).digest())


def letters(digest: bytes) -> str:
    """The first 80 bits of a digest in base 32, ten bits at a time.

    There is one for each endpoint, so it is written out: three times quicker than base64, or than a loop.
    """
    bits = int.from_bytes(digest[:10], "big")
    two = _PAIRS
    return (
        f"{two[bits >> 70]}{two[bits >> 60 & 1023]}{two[bits >> 50 & 1023]}{two[bits >> 40 & 1023]}"
        f"{two[bits >> 30 & 1023]}{two[bits >> 20 & 1023]}{two[bits >> 10 & 1023]}{two[bits & 1023]}"
    )


@lru_cache(maxsize=1024)
def hash_input(name: PortName) -> str:
    return f"{name}{PROTOCOL_WORD[name.protocol]}"


def port_hash(name: PortName) -> str:
    """Shared by all chains of one ServicePort but those of its endpoints."""
    return hash_of(hash_input(name))


def endpoint_hashes(name: PortName, endpoints: list[str]) -> list[str]:
    """The hash of each endpoint ("address:port") of a ServicePort; the common part is hashed once."""
    common = sha256(hash_input(name).encode())
    hashes = []
    for endpoint in endpoints:
        whole = common.copy()
        whole.update(endpoint.encode())
        hashes.append(letters(whole.digest()))
    return hashes


def is_service_chain(chain: str) -> bool:
    return chain.startswith(SERVICE_CHAIN_PREFIXES)
