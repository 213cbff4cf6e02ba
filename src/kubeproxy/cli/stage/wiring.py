"""A Layout in the words of ip(8): one batch per room, so that a cluster is wired in a moment."""

from collections.abc import Iterator, Mapping

from kubeproxy.cli.stage.layout import Layout, Nic, Room

#: every room, before it has interfaces: those inherit what is set here
EVERY_ROOM = {
    # Some distributions filter by reverse path; an answer over another interface is not a fault here.
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv6/conf/all/disable_ipv6": "0",
    "net/ipv6/conf/default/disable_ipv6": "0",
    # Looking for duplicates takes a second per address; here nobody can have one.
    "net/ipv6/conf/default/accept_dad": "0",
    "net/ipv6/conf/default/dad_transmits": "0",
    # Who may ping without a raw socket: the group of root.
    "net/ipv4/ping_group_range": "0 0",
    # Refusals are ICMP, and the kernel sends few of those a second to one address: a table of
    # refused connections would see time-outs.
    "net/ipv4/icmp_ratelimit": "0",
    "net/ipv6/icmp/ratelimit": "0",
    # Those of all addresses together; a namespace has its own limit since Linux 6.13.
    "net/ipv4/icmp_msgs_per_sec": "100000",
    "net/ipv4/icmp_msgs_burst": "100000",
}
# Linux takes a cable whose two ends have the same index in their namespaces for something else, and
# notices only a second later that it is plugged in.
FAR_FROM_THE_FIRST = 1000
FORWARDING = {"net/ipv4/ip_forward": "1", "net/ipv6/conf/all/forwarding": "1"}


def sysctls(room: Room) -> dict[str, str]:
    """What a room's kernel settings must be."""
    return {**EVERY_ROOM, **(FORWARDING if room.forwards else {})}


def cables(layout: Layout, pids: Mapping[str, int]) -> dict[str, str]:
    """Room → the batch that makes its cables; `pids` are processes inside the rooms."""
    batches: dict[str, list[str]] = {}
    for index, link in enumerate(layout.links, FAR_FROM_THE_FIRST):
        near, far = f"name {link.nic} index {index}", f"name {link.peer_nic} netns {pids[link.peer]}"
        words = f"link add {near} type veth peer {far}"
        batches.setdefault(link.room, []).append(words)
    return {room: "\n".join(lines) + "\n" for room, lines in batches.items()}


def furniture(room: Room) -> str:
    """The batch that gives a room its addresses and routes, once its cables are there."""
    lines = ["link set lo up"]
    for nic in room.nics:
        lines += _interface(nic)
    return "\n".join([*lines, *room.routes]) + "\n"


def rules(room: Room) -> str:
    """The batch that gives a room its routing rules, the same for both families."""
    return "".join(f"{rule}\n" for rule in room.rules)


def _interface(nic: Nic) -> Iterator[str]:
    for address in nic.addresses:
        yield f"addr add {_with_length(address)} dev {nic.name}{' nodad' if ':' in address else ''}"
    yield f"link set {nic.name} up"


def _with_length(address: str) -> str:
    return address if "/" in address else f"{address}/{128 if ':' in address else 32}"
