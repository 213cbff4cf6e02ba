"""The real daemon and an API server beside it in one namespace: what it says there is in the kernel here."""

import asyncio
import contextlib
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.daemon import CONFIG, Daemon, command, saved, until
from tests.lab.netns import Namespace, namespace
from tests.sources.apiserver.fake import FakeApi, Object
from tests.sources.apiserver.listening import cidr, node
from tests.sources.http.middlemen import CERTS, server_tls
from tests.sources.objects import service, slice_of

pytestmark = pytest.mark.lab


class Server:
    """The tests' API server in a thread of its own, inside a namespace, over TLS."""

    def __init__(self, ns: Namespace) -> None:
        self.api = FakeApi(server_tls())
        self.api.port = 6443
        self._loop = asyncio.new_event_loop()
        with ns.enter():
            self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
            self._thread.start()

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run something where the server runs."""

        async def run() -> Any:
            found = function(*args)
            return await found if asyncio.iscoroutine(found) else found

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(30)

    def start(self) -> None:
        self.call(self.api.start)

    def stop(self) -> None:
        self.call(self.api.stop)

    def put(self, *objects: Object) -> None:
        self.call(self.api.put, *objects)

    def close(self) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)


@pytest.fixture
def ns() -> Iterator[Namespace]:
    with namespace("node") as found:
        yield found


@pytest.fixture
def server(ns: Namespace) -> Iterator[Server]:
    found = Server(ns)
    found.put(node("node-a", status={"addresses": [{"type": "InternalIP", "address": "192.0.2.10"}]}), cidr())
    found.put(served(), serving_it("10.244.0.5"))
    yield found
    found.close()


def served(name: str = "cart", ip: str = "10.96.0.10") -> Object:
    """A Service as an API server sends it, with nothing left to guess."""
    port = {"port": 80, "protocol": "TCP", "targetPort": 8080}
    return service(name, clusterIP=ip, clusterIPs=[ip], ipFamilies=["IPv4"], type="ClusterIP", ports=[port])


def serving_it(*addresses: str, of: str = "cart") -> Object:
    ready = {"ready": True, "serving": True, "terminating": False}
    endpoints = [{"addresses": [address], "conditions": ready} for address in addresses]
    return slice_of(of, endpoints=endpoints, ports=[{"name": "", "port": 8080, "protocol": "TCP"}])


def kubeconfig(folder: Path) -> Path:
    """As kubeadm writes it: an authority and a token in files."""
    (folder / "token").write_text("secret\n")
    (folder / "ca.crt").write_bytes((CERTS / "ca.crt").read_bytes())
    path = folder / "kubeconfig.conf"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [
                    {
                        "name": "default",
                        "cluster": {"certificate-authority": "ca.crt", "server": "https://127.0.0.1:6443"},
                    }
                ],
                "users": [{"name": "default", "user": {"tokenFile": "token"}}],
                "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
                "current-context": "default",
            }
        )
    )
    return path


@contextlib.contextmanager
def following(ns: Namespace, folder: Path, more: str = "") -> Iterator[Daemon]:
    """A daemon that was told of the server by its configuration file, as kubeadm's is."""
    path = folder / "config.yaml"
    path.write_text(f"{CONFIG}clientConnection: {{kubeconfig: {kubeconfig(folder)}}}\n{more}")
    running = Daemon(ns, ns.popen(command("--config", str(path)), stderr=subprocess.PIPE, text=True))
    try:
        yield running
    finally:
        if running.child.poll() is None:
            running.stop(signal.SIGKILL)


def endpoints(ns: Namespace) -> list[str]:
    """Where packets may be sent, as the kernel has it."""
    return sorted(line.rpartition(" ")[2] for line in saved(ns).splitlines() if "--to-destination" in line)


def test_what_the_server_says_is_in_the_kernel(ns: Namespace, server: Server, tmp_path: Path) -> None:
    server.start()
    with following(ns, tmp_path) as daemon:
        daemon.wait_synced()
        assert endpoints(ns) == ["10.244.0.5:8080"]
        assert {seen.headers.get("authorization") for seen in server.api.seen} == {"Bearer secret"}
        assert daemon.ask(10256, "/healthz")[0] == 200
        server.put(serving_it("10.244.0.6", "10.244.0.7"))
        until(lambda: endpoints(ns) == ["10.244.0.6:8080", "10.244.0.7:8080"], "changed")
        metrics = daemon.metrics()
        counted = {name: value for name, value in metrics.items() if name.startswith("rest_client_requests")}
        assert counted == {'rest_client_requests_total{code="200",host="127.0.0.1:6443",method="GET"}': 4.0}
        assert "error" not in daemon.log.lower()
        assert daemon.stop() == -signal.SIGTERM


def test_a_server_that_is_absent_is_waited_for_with_no_port_open(
    ns: Namespace, server: Server, tmp_path: Path
) -> None:
    with following(ns, tmp_path) as daemon:
        daemon.said("127.0.0.1:6443 cannot be reached: connection refused")
        assert not daemon.listens("127.0.0.1", 10256)
        assert not daemon.listens("127.0.0.1", 10249)
        server.start()
        daemon.wait_synced()
        assert endpoints(ns) == ["10.244.0.5:8080"]
        assert len([line for line in daemon.lines if "cannot be reached" in line]) == 1
        daemon.said("the API server answers again")
        daemon.said('"Successfully retrieved NodeIPs" NodeIPs=["192.0.2.10"]')


def test_a_server_that_goes_takes_nothing_with_it(ns: Namespace, server: Server, tmp_path: Path) -> None:
    """And is believed again as soon as it is back, also about what it did meanwhile and forgot."""
    server.start()
    with following(ns, tmp_path) as daemon:
        daemon.wait_synced()
        server.stop()
        server.put(served("web", "10.96.0.11"), serving_it("10.244.0.9", of="web"))
        server.call(server.api.delete, "EndpointSlice", "shop/cart-1")
        server.call(server.api.compact)
        daemon.said("connection refused")
        assert endpoints(ns) == ["10.244.0.5:8080"]
        server.start()
        until(lambda: endpoints(ns) == ["10.244.0.9:8080"], "right again", 5.0)


def test_the_node_is_waited_for_and_its_networks_too(ns: Namespace, server: Server, tmp_path: Path) -> None:
    server.call(server.api.delete, "Node", "/node-a")
    server.start()
    address = {"addresses": [{"type": "InternalIP", "address": "192.0.2.10"}]}
    with following(ns, tmp_path, "detectLocalMode: NodeCIDR\n") as daemon:
        until(lambda: server.api.seen, "asked")
        assert [seen.resource for seen in server.api.seen] == ["nodes"]
        server.put(node("node-a", status=address))
        daemon.said("Successfully retrieved NodeIPs")
        assert not daemon.listens("127.0.0.1", 10256)
        server.put(node("node-a", status=address, spec={"podCIDRs": ["10.244.0.0/24"]}))
        daemon.wait_synced()
        assert "10.244.0.0/24" in saved(ns)
        # Other networks mean another start; a Node that goes means nothing yet.
        server.call(server.api.delete, "Node", "/node-a")
        daemon.said('"Node is being deleted" node="node-a"')
        server.put(node("node-a", status=address, spec={"podCIDRs": ["10.244.7.0/24"]}))
        assert daemon.ended() == 1
        assert '"PodCIDRs changed for the node" node="node-a" podCIDRs=["10.244.7.0/24"]' in daemon.log
        assert "10.244.0.0/24" in saved(ns)


def test_without_a_server_to_ask_it_says_what_to_name(ns: Namespace, tmp_path: Path) -> None:
    done = ns.run(command(), check=False)
    assert done.returncode == 1
    said = (
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be"
    )
    assert f'"Error running ProxyServer" err="{said} defined' in done.stderr
    assert "--manifests DIR" in done.stderr
    done = ns.run(command("--kubeconfig", str(tmp_path / "none")), check=False)
    assert done.returncode == 1
    assert f"stat {tmp_path}/none: no such file or directory" in done.stderr


@pytest.mark.slow
def test_a_network_that_comes_back_is_made_up_for(ns: Namespace, server: Server, tmp_path: Path) -> None:
    """No connection is closed: packets vanish, so it must be noticed that nobody is there."""
    server.start()
    cut = ["INPUT", "-p", "tcp", "--sport", "6443", "-j", "DROP"]
    with following(ns, tmp_path) as daemon:
        daemon.wait_synced()
        ns.run(["iptables", "-I", *cut])
        server.put(serving_it("10.244.0.6"))
        daemon.said("no connection to 127.0.0.1:6443 within", 40.0)
        assert endpoints(ns) == ["10.244.0.5:8080"]
        ns.run(["iptables", "-D", *cut])
        until(lambda: endpoints(ns) == ["10.244.0.6:8080"], "right again", 5.0)
