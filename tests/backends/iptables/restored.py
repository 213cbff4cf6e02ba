"""What a payload leaves behind in a kernel that does what iptables-restore --noflush promises, and nothing more."""

from collections.abc import Iterable, Iterator

Tables = dict[str, dict[str, list[str]]]

BUILTIN = {
    "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
    "filter": ("INPUT", "FORWARD", "OUTPUT"),
    "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
}


def empty() -> Tables:
    return {table: {chain: [] for chain in chains} for table, chains in BUILTIN.items()}


def restore(tables: Tables, payload: Iterable[bytes]) -> None:
    """Apply a payload, line by line; a chain must exist before anything is put into it."""
    chains: dict[str, list[str]] = {}
    for line in b"".join(payload).decode().splitlines():
        if line.startswith("*"):
            chains = tables[line[1:]]
        elif line.startswith(":"):
            chains[line[1:].split()[0]] = []
        elif line.startswith("-A "):
            _, chain, rule = line.split(" ", 2)
            chains[chain].append(rule)
        elif line.startswith("-I "):
            _, chain, rule = line.split(" ", 2)
            chains[chain].insert(0, rule)
        elif line.startswith("-X "):
            assert chains.pop(line[3:]) == [], line
        else:
            assert line == "COMMIT", line


def ours(tables: Tables) -> Iterator[tuple[str, str, list[str]]]:
    """Our chains and their rules, without those that hold nothing on purpose."""
    for table, chains in tables.items():
        for chain, rules in chains.items():
            if chain not in BUILTIN[table] and chain not in ("KUBE-PROXY-CANARY", "KUBE-FIREWALL"):
                yield table, chain, rules
