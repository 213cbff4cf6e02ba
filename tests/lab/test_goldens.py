"""The captured clusters: what the real one programmed, ours programs byte for byte, in the real kernel."""

import json
import re

import pytest

from tests.golden.normalize import iptables as normalize
from tests.goldens import CASES, FOLDER
from tests.lab.daemon import Daemon, daemon, saved
from tests.lab.netns import Namespace, namespace

pytestmark = pytest.mark.lab

INTERFACES = {
    "eth0": ("192.168.50.11/24", "fd00:50::11/64"),
    "eth1": ("192.168.61.11/24", "fd00:61::11/64"),
}
ADDRESSES = ["127.0.0.1", "::1", "192.168.50.11", "fd00:50::11", "192.168.61.11", "fd00:61::11"]


def furnish(ns: Namespace) -> None:
    """The node the captures were made on: two interfaces, no link-local addresses."""
    for name, addresses in INTERFACES.items():
        ns.run(["ip", "link", "add", name, "type", "veth", "peer", "name", f"{name}p"])
        for end in (name, f"{name}p"):
            ns.run(["ip", "link", "set", end, "addrgenmode", "none", "up"])
        for address in addresses:
            ns.run(["ip", "addr", "add", address, "dev", name, *(["nodad"] if ":" in address else [])])


def config(case: str) -> str:
    own = FOLDER / case / "config.yaml"
    text = (own if own.exists() else FOLDER / "base-config.yaml").read_text()
    return re.sub(r"^mode:.*\n", "", text, flags=re.MULTILINE) + "\nmode: iptables\n"


def sysctls(ns: Namespace) -> dict[str, str]:
    lines = ns.run(["sysctl", "-a", "--pattern", r"^net\.ipv[46]"]).stdout.splitlines()
    return dict(line.split(" = ", 1) for line in lines if " = " in line)


def expected_sysctls(case: str) -> dict[str, str]:
    lines = (FOLDER / case / "expected.iptables-sysctl.txt").read_text().splitlines()
    return {line.split(" = ")[0]: line.split(" = ")[1].split()[0] for line in lines}


def masked(text: bytes) -> object:
    return json.loads(re.sub(rb'"(lastUpdated|currentTime)":"[^"]*"', rb'"\1":"*"', text))


def check_health(running: Daemon, case: str) -> None:
    """Every health answer, and where each port accepts connections."""
    expected = json.loads((FOLDER / case / "expected.iptables-health.json").read_text())
    for name, record in expected.items():
        port, path = (
            (10256, "/" + name.split("/")[1]) if name.startswith("proxy/") else (int(name.split(":")[1]), "/")
        )
        status, headers, body = running.ask(port, path)
        shown = {key: value for key, value in headers.items() if key not in ("Date", "Content-Length")}
        assert (status, shown, masked(body)) == (record["status"], record["headers"], record["body"]), name
        accepting = [address for address in ADDRESSES if running.listens(address, port)]
        assert accepting == record["listening"], name


@pytest.mark.parametrize("case", CASES)
def test_the_real_kernel_holds_what_the_original_programmed(case, tmp_path):
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    for kind, listed in json.loads((FOLDER / case / "objects.json").read_text()).items():
        (manifests / f"{kind}.json").write_text(json.dumps(listed))
    with namespace() as ns:
        furnish(ns)
        before = sysctls(ns)
        with daemon(ns, manifests, config(case)) as running:
            running.wait_synced()
            for program in ("iptables", "ip6tables"):
                assert normalize(saved(ns, program)) == (FOLDER / case / f"expected.{program}").read_text()
            after = sysctls(ns)
            moving = re.compile(r"random|neigh|dentry|inode|_mem|conntrack_count")
            changed = {k: v for k, v in after.items() if before.get(k) != v and not moving.search(k)}
            assert changed == expected_sysctls(case)
            gauges = running.metrics()
            for line in (FOLDER / case / "expected.iptables-metrics.txt").read_text().splitlines():
                name, value = line.split()
                assert gauges[name] == float(value), name
            check_health(running, case)
