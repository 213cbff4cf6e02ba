"""Who sends the packet: the words of `--from`, or who most likely would, each with an address."""

from ipaddress import ip_address, ip_network
from typing import Final

from msgspec import Struct

from kubeproxy.cli.explain_question import Unclear, Who
from kubeproxy.cli.explain_scene import Pod, Scene
from kubeproxy.model.identity import Family
from kubeproxy.routes.nodeview import DetectBy, Detector, NodeView, is_loopback
from kubeproxy.routes.route import Source

#: kept for documentation by the standards, so that they are nobody's; the last is for benchmarks
_OUTSIDE: Final = {
    Family.IPV4: ("203.0.113.77", "198.51.100.77", "192.0.2.77", "198.18.0.77"),
    Family.IPV6: ("2001:db8:ffff::77", "2001:db8:77::77", "2001:2::77"),
}
_NOBODY: Final = {Family.IPV4: "198.18.0.254", Family.IPV6: "2001:2::fe"}
_LOOPBACK: Final = {Family.IPV4: "127.0.0.1", Family.IPV6: "::1"}
_EXAMPLES: Final = {
    Family.IPV4: "--from 192.0.2.7 10.96.0.10:80",
    Family.IPV6: "--from 2001:db8::7 [fd00::a]:80",
}
_ETHERNET: Final = "eth0"
_OFFSET: Final = 254


class Sender(Struct, frozen=True):
    """An address, where its packets come in ("" when this node makes them), and who that is."""

    address: str
    interface: str
    who: str
    assumed: bool = False
    remarks: tuple[str, ...] = ()


def sender(said: Who | str, destination: str, scene: Scene, *, assumed: bool) -> Sender:
    """Somebody of the destination's family."""
    family = Family.IPV6 if ":" in destination else Family.IPV4
    view = scene.view(family)
    if not isinstance(said, Who):
        return _at(said, family, scene)
    if said is Who.POD:
        address = _pod_address(family, scene)
        interface = _pod_interface(view.detector)
        told = _unrecognised(view, address, interface)
        return Sender(address, interface, "a pod on this node", assumed, told)
    if said is Who.OUTSIDE:
        return Sender(_outside_address(family, scene), _ETHERNET, "a client outside the cluster", assumed)
    if said is Who.LOCALHOST:
        return Sender(_LOOPBACK[family], "", "a program on this node, by loopback", assumed)
    # The kernel answers a host's dial to itself from the very address that was dialled.
    own = destination if view.is_local(destination) else view.node_ip
    return Sender(own, "", "this node itself", assumed)


def _at(address: str, family: Family, scene: Scene) -> Sender:
    if (":" in address) != (family is Family.IPV6):
        raise Unclear(f"nobody at {address} can send to an {family} address", _EXAMPLES[family])
    view = scene.view(family)
    if view.is_local(address):
        return Sender(address, "", "this node itself")
    pod, node = scene.pod(address, family), scene.node_of_pods(address, family)
    runs_on = pod.endpoint.node if pod is not None else node.metadata.name if node is not None else ""
    if runs_on == scene.node_name != "":
        interface = _pod_interface(view.detector)
        told = _unrecognised(view, address, interface)
        return Sender(address, interface, f"a pod on this node{_serving(pod)}", remarks=told)
    if runs_on:
        asks = f"its own node decides first: ask there, or with --hostname-override {runs_on}"
        return Sender(address, _ETHERNET, f"a pod on {runs_on}{_serving(pod)}", remarks=(asks,))
    other = scene.node_with(address)
    if other is not None:
        return Sender(address, _ETHERNET, f"the node {other.metadata.name}")
    if pod is not None or view.source_class(address, _ETHERNET) is Source.POD:
        return Sender(address, _ETHERNET, f"a pod{_serving(pod)}")
    return Sender(address, _ETHERNET, "a client outside the cluster")


def _serving(pod: Pod | None) -> str:
    return f", an endpoint of {pod.name}" if pod is not None else ""


def _pod_address(family: Family, scene: Scene) -> str:
    """An address of this node's pods, or at least one that counts as a pod's."""
    detector = scene.view(family).detector
    networks = [*scene.pod_networks(scene.node, family)]
    if detector is not None and detector.by is DetectBy.CIDR:
        networks.append(detector.value)
    return next(map(_inside, networks), _NOBODY[family])


def _inside(cidr: str) -> str:
    """Not one of the first, which are often gateways and real pods."""
    network = ip_network(cidr, strict=False)
    return str(network[min(_OFFSET, network.num_addresses - 1)])


def _pod_interface(detector: Detector | None) -> str:
    if detector is None or detector.by is DetectBy.CIDR:
        return _ETHERNET
    return detector.value if detector.by is DetectBy.INTERFACE else f"{detector.value}0"


def _unrecognised(view: NodeView, address: str, interface: str) -> tuple[str, ...]:
    """A pod that does not count as one is treated like a client outside: often not what was meant."""
    if view.source_class(address, interface) is Source.POD:
        return ()
    if view.detector is None:
        why = f"nothing says which {view.family} addresses are pods'; set clusterCIDR, or detectLocalMode"
    else:
        why = f"pods are known by {view.detector.by.value} {view.detector.value}, and {address} is not that"
    return (f"this node does not take it for a pod: {why}",)


def _outside_address(family: Family, scene: Scene) -> str:
    view, addresses = scene.view(family), scene.addresses(family)
    for address in _OUTSIDE[family]:
        counts = view.source_class(address, _ETHERNET) is Source.OTHER
        if counts and not addresses.here(address) and scene.node_with(address) is None:
            return address
    return str(ip_address(_OUTSIDE[family][-1]) + 1)


def likely(destination: str, meant_for_outside: bool) -> Who:
    """Who would dial this, when the question does not say."""
    if is_loopback(destination):
        return Who.LOCALHOST
    return Who.OUTSIDE if meant_for_outside else Who.POD
