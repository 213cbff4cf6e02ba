"""What the demo shows: its pods, its manifests, and who dials what."""

from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from kubeproxy.cli.stage.layout import Pod
from kubeproxy.cli.stage.questions import Dial

MANIFESTS = "demo_manifests"
NODE = "node-a"
CONFIG = """\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
hostnameOverride: node-a
detectLocalMode: ClusterCIDR
clusterCIDR: 10.244.0.0/16,fd00:10:244::/48
# The machine's limits are not this little cluster's to set.
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
"""

WEB, DNS, TILLER = ("8080/TCP", "8080/UDP"), ("53/UDP", "53/TCP"), ("44134/TCP",)


def pod(name: str, node: str, number: int, serves: tuple[str, ...] = WEB) -> Pod:
    """A pod with an address of each family; node-a has the first network of pods, node-b the second."""
    network = 1 if node == "node-a" else 2
    return Pod(name, node, (f"10.244.{network}.{number}", f"fd00:10:244:{network}::{number}"), serves)


PODS = (
    pod("web-1", "node-a", 11),
    pod("cart-1", "node-a", 12),
    pod("dns-1", "node-a", 53, DNS),
    pod("web-2", "node-b", 11),
    pod("cart-2", "node-b", 12),
    pod("web-3", "node-b", 13),
    pod("tiller-1", "node-b", 44, TILLER),
)

OUTSIDE, STRANGER = "203.0.113.10", "203.0.113.99"
OUTSIDE6, STRANGER6 = "fd00:113::10", "fd00:113::99"


class Row(Struct, frozen=True):
    """One line of the demo's table; `times` is for what shows only when it is done often."""

    who: str
    what: str
    dial: Dial
    times: int = 1


def row(who: str, room: str, what: str, to: str, port: int, **more: str | int) -> Row:
    """A line of the table below, without the words that repeat in each."""
    times = int(more.pop("times", 1))
    protocol, source = str(more.pop("protocol", "TCP")), str(more.pop("source", ""))
    return Row(who, what, Dial(room, to, port, protocol, source), times)


def client(what: str, to: str, port: int, **more: str | int) -> Row:
    """A line about the client outside; its second address is a stranger's."""
    source = more.pop("source", OUTSIDE6 if ":" in to else OUTSIDE)
    who = "a stranger outside" if source in (STRANGER, STRANGER6) else "a client outside"
    return row(who, "client", what, to, port, source=source, **more)


ON_A, ITSELF = "a pod on node-a", "node-a itself"

ROWS = (
    row(ON_A, "cart-1", "web, cluster IP", "10.96.10.1", 80, times=300),
    row(ITSELF, "node-a", "web, cluster IP", "10.96.10.1", 80),
    row(ON_A, "cart-1", "web, IPv6", "fd00:10:96::a01", 80),
    client("web, node port", "192.168.50.11", 30080),
    row(ITSELF, "node-a", "web, node port on loopback", "127.0.0.1", 30080),
    client("web, load balancer", "198.51.100.10", 80),
    client("web, load balancer, IPv6", "fd00:198::10", 80),
    client("members, load balancer", "198.51.100.20", 80),
    client("members, load balancer", "198.51.100.20", 80, source=STRANGER),
    client("members, load balancer, IPv6", "fd00:198::20", 80, source=STRANGER6),
    client("local, node port", "192.168.50.11", 30090),
    client("local, load balancer, IPv6", "fd00:198::30", 80),
    row("node-b itself", "node-b", "local, node port", "192.168.50.11", 30090),
    client("far, node port", "192.168.50.11", 30091),
    row(ON_A, "cart-1", "far, node port", "192.168.50.11", 30091),
    row(ON_A, "web-1", "near, cluster IP", "10.96.10.6", 80, times=20),
    row(ON_A, "web-1", "cart, cluster IP, affinity", "10.96.10.3", 80, times=20),
    row(ON_A, "web-1", "alone, its own cluster IP", "10.96.10.8", 80),
    client("alone, external IP", "198.51.100.80", 80),
    row(ON_A, "cart-1", "gone, cluster IP", "10.96.10.7", 80),
    client("gone, node port", "192.168.50.11", 30092),
    row(ON_A, "cart-1", "gone, IPv6", "fd00:10:96::a07", 80),
    row(ON_A, "web-1", "kube-dns:dns", "10.96.0.10", 53, protocol="UDP"),
    row(ON_A, "web-1", "kube-dns:dns, IPv6", "fd00:10:96::10", 53, protocol="UDP"),
    row(ON_A, "web-1", "kube-dns:dns-tcp", "10.96.0.10", 53),
    row(ON_A, "web-1", "kubernetes:https", "10.96.0.1", 443),
    row(ON_A, "web-1", "tiller-deploy:tiller", "10.96.0.44", 44134),
    row(ON_A, "web-1", "my-service:test-non-selector", "10.96.0.80", 80),
    row(ON_A, "web-1", "the world, no Service", OUTSIDE, 8080),
)

#: answers only when everything stands: what is loaded in portions is connected last
READY = (
    client("web", "192.168.50.11", 30080).dial,
    client("web", "fd00:50::11", 30080).dial,
)
#: who goes away in the second act, from which Service, and who notices
LEAVER, LEFT = "web-2", client("web, load balancer", "198.51.100.10", 80)
#: the packet of the third act: why does the stranger wait in vain?
PUZZLE = client("members, load balancer", "198.51.100.20", 80, source=STRANGER).dial


def write_manifests(folder: Path) -> None:
    """Copies the demo's manifests to where the proxy watches them."""
    for manifest in files("kubeproxy.cli").joinpath(MANIFESTS).iterdir():
        folder.joinpath(manifest.name).write_text(manifest.read_text())
