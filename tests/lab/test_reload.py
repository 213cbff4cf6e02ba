"""The configuration changes under the real daemon, mounted as a ConfigMap, with real rules and ports."""

import contextlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.configmap import ConfigMap
from tests.lab.daemon import CONFIG, Daemon, command, daemon, saved, until
from tests.lab.netns import namespace

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "type": "NodePort",
        "clusterIP": "10.96.0.10",
        "ports": [{"port": 80, "nodePort": 30080}],
    },
}
SLICE = {
    "apiVersion": "discovery.k8s.io/v1",
    "kind": "EndpointSlice",
    "metadata": {"name": "web-1", "namespace": "shop", "labels": {"kubernetes.io/service-name": "web"}},
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["10.77.1.5"], "nodeName": "node-a"}],
    "ports": [{"port": 8080}],
}
#: everything that shapes rules, and can change under way
OTHER = (
    CONFIG.replace("clusterCIDR: 10.77.0.0/16,fd00:10:77::/48", "detectLocalMode: BridgeInterface").replace(
        "iptables: {minSyncPeriod: 1ms}", ""
    )
    + """\
detectLocal: {bridgeInterface: cni0}
nodePortAddresses: [192.0.2.0/24]
iptables: {minSyncPeriod: 2ms, masqueradeBit: 9, masqueradeAll: true}
"""
)


@pytest.fixture
def node():
    with namespace("node") as ns:
        ns.run(["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "far"])
        ns.run(["ip", "addr", "add", "192.0.2.7/24", "dev", "eth0"])
        yield ns


@pytest.fixture
def manifests(tmp_path):
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "shop.yaml").write_text("\n---\n".join(map(json.dumps, (SERVICE, SLICE))))
    return folder


def rules(ns):
    """All rules of both families but one, which is there as long as the host routes to loopback.

    Nobody takes that setting back, neither here nor upstream, so what guards against its abuse stays too.
    """
    lines = [*saved(ns).splitlines(), *saved(ns, "ip6tables").splitlines()]
    return [line for line in lines if "block incoming localnet connections" not in line]


@contextlib.contextmanager
def mounted(ns, manifests, *words):
    """A daemon whose configuration is a ConfigMap."""
    config = ConfigMap(manifests.parent / "kube-proxy", config_conf=CONFIG)
    argv = command("--manifests", str(manifests), "--config", str(config.config), *words)
    running = Daemon(ns, ns.popen(argv, stderr=subprocess.PIPE, text=True))
    try:
        running.wait_synced()
        yield running, config
    finally:
        running.child.kill()
        running.ended()
        shutil.rmtree(config.folder)


def fresh(manifests, config):
    """What a start with this configuration leaves in the kernel."""
    with namespace("fresh") as ns:
        ns.run(["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "far"])
        ns.run(["ip", "addr", "add", "192.0.2.7/24", "dev", "eth0"])
        with daemon(ns, manifests, config) as running:
            running.wait_synced()
            return rules(ns)


def test_rules_follow_a_live_change_as_if_it_had_been_so_from_the_start(node, manifests):
    wanted = fresh(manifests, OTHER)
    first = fresh(manifests, CONFIG)
    assert wanted != first
    with mounted(node, manifests, "--config-reload=live") as (running, config):
        assert rules(node) == first
        config.update(config_conf=OTHER)
        running.said('this is applied" field="iptables.masqueradeBit" before="14" after="9"')
        until(lambda: rules(node) == wanted, "as after a fresh start")
        config.update(config_conf=CONFIG)
        until(lambda: rules(node) == first, "as before")
        assert running.metrics()["kubeproxy_config_pending_changes"] == 0


def test_ports_and_the_log_follow_too(node, manifests):
    with mounted(node, manifests, "--config-reload=live") as (running, config):
        more = 'metricsBindAddress: "127.0.0.1:11249"\nhealthzBindAddress: "127.0.0.1:11256"\n'
        config.update(config_conf=CONFIG + more + "logging: {format: json, verbosity: 2}\n")
        until(lambda: running.listens("127.0.0.1", 11249), "moved")
        until(lambda: running.listens("127.0.0.1", 11256), "moved")
        assert running.ask(11249, "/proxyMode")[2] == b"iptables"
        assert running.ask(11256, "/livez")[0] == 200
        assert not running.listens("127.0.0.1", 10249)
        assert not running.listens("127.0.0.1", 10256)
        shown = json.loads(running.ask(11249, "/configz")[2])["kubeproxy.config.k8s.io"]
        assert (shown["logging"]["verbosity"], shown["metricsBindAddress"]) == (2, "127.0.0.1:11249")
        running.said('"field":"logging.format","before":"text","after":"json"')


def test_by_default_a_change_waits_and_everybody_can_see_it(node, manifests):
    with mounted(node, manifests) as (running, config):
        before = saved(node)
        config.update(config_conf=OTHER + "oomScoreAdj: 77\n")
        running.said('waits for the next start" field="oomScoreAdj" before="-999" after="77"')
        assert running.metrics()["kubeproxy_config_pending_changes"] == 8
        text = running.ask(10249, "/statusz")[2].decode()
        assert "Pending config: iptables.masqueradeBit: 14 → 9\n" in text
        config.update(config_conf="mode: iptables")
        running.said("cannot be used; nothing changes")
        problem = "Config problem: [Object 'apiVersion' is missing, Object 'Kind' is missing]\n"
        assert problem in running.ask(10249, "/statusz")[2].decode()
        assert saved(node) == before
        config.update(config_conf=CONFIG)
        running.said("nothing is pending any more")
        assert "Pending" not in running.ask(10249, "/statusz")[2].decode()
        assert running.child.poll() is None


def test_exit_waits_for_a_file_that_can_be_used(node, manifests):
    with mounted(node, manifests, "--config-reload=exit") as (running, config):
        config.update(config_conf=CONFIG + "oomScoreAdj: 5000\n")
        running.said("cannot be used; nothing changes")
        assert running.child.poll() is None
        config.update(config_conf=CONFIG + "oomScoreAdj: 77\n")
        assert running.ended() == 1
        before = saved(node)
    assert (
        '"command failed" err="content of the proxy server\'s configuration file was updated' in running.log
    )
    assert ":KUBE-SERVICES" in before


def test_a_change_that_the_host_refuses_leaves_all_as_it_was(node, manifests):
    """Node ports on loopback need a setting of the host, which a container may not be allowed to make."""
    closed = CONFIG + "nodePortAddresses: [192.0.2.0/24]\n"
    folder = manifests.parent / "kube-proxy"
    config = ConfigMap(folder, config_conf=closed)
    words = command("--manifests", str(manifests), "--config", str(config.config), "--config-reload=live")
    locked = 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"'
    argv = ["unshare", "--mount", "sh", "-c", locked, "sh", *words]
    running = Daemon(node, node.popen(argv, stderr=subprocess.PIPE, text=True))
    try:
        running.wait_synced()
        before = saved(node)
        config.update(config_conf=CONFIG)
        running.said("The change cannot be applied under way; all of it waits for the next start")
        assert "/proc/sys is read-only in this container" in running.log
        assert saved(node) == before
        assert running.metrics()["kubeproxy_config_pending_changes"] == 1
    finally:
        running.child.kill()
        running.ended()
    assert Path(folder).exists()
