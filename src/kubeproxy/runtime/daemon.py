"""The daemon, put together: which programs, which families, which source, and what runs beside the loop."""

import asyncio
import os
import platform
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from kubeproxy.api.node import Node
from kubeproxy.config.invocation import Invocation
from kubeproxy.config.node import node_name
from kubeproxy.config.release import KUBERNETES_VERSION
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.kernel.files import processors
from kubeproxy.kernel.listen import AddressWatch
from kubeproxy.model.identity import Family
from kubeproxy.runtime.ears import iptables_drift
from kubeproxy.runtime.healthz import HealthPages
from kubeproxy.runtime.host import guard_from_oom, leave_other_modes, limit_connections
from kubeproxy.runtime.live import Live
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.machine import LinuxMachine
from kubeproxy.runtime.nodewatch import addresses_of_node
from kubeproxy.runtime.ownnode import OwnNode, wait_for_node
from kubeproxy.runtime.pages import metrics_pages
from kubeproxy.runtime.proxy import Proxy
from kubeproxy.runtime.reload import Reload
from kubeproxy.runtime.restmetrics import RestMetrics
from kubeproxy.runtime.servers import Port
from kubeproxy.runtime.setup import counter_metrics, iptables_backends, prepare_iptables, usable_families
from kubeproxy.runtime.standardmetrics import add_standard_metrics
from kubeproxy.runtime.standing import Standing
from kubeproxy.sources.notice import Source
from kubeproxy.sources.recording import Recorder

if TYPE_CHECKING:
    from kubeproxy.sources.apiserver.source import ApiServerSource

#: seconds to wait for programs that an earlier proxy started and that still run
PATIENCE = 30.0


async def serve(invocation: Invocation, config: KubeProxyConfig) -> None:
    """Everything before the first change: what fails here ends the process with a reason."""
    name = node_name(config.hostnameOverride, socket.gethostname())
    machine = LinuxMachine.found()
    log.info("Using iptables", flavour=machine.flavour, because=machine.because, version=machine.version)
    leave_other_modes(machine)
    recorder = Recorder(Path(invocation.record)) if invocation.record else None
    requests = RestMetrics()
    server = _api_server(invocation, config, name, requests)
    try:
        node = await wait_for_node(server, name, config) if server is not None else None
        families = _prepare(config, machine, node, on_a_cluster=server is not None or invocation.init_only)
        if invocation.init_only:
            for family in families:
                log.info("System initialized and --init-only specified", ipFamily=family.value)
            return
        backends = iptables_backends(config, machine, families)
        log.info("Version info", version=KUBERNETES_VERSION, python=platform.python_version())
        guard_from_oom(config.oomScoreAdj, machine)
        proxy = Proxy(config, name, server or _files(invocation), machine, backends, recorder)
        proxy.drift = iptables_drift(proxy, machine)
        add_standard_metrics(proxy.metrics, config.featureGates)
        if server is not None:
            proxy.believe = OwnNode(config, name, node).believed
        for metric in (*counter_metrics(machine), *requests):
            proxy.metrics.add(metric)
        await _run(proxy, machine, invocation)
    finally:
        machine.stop()
        if server is not None:
            await server.close()
        if recorder is not None:
            recorder.close()


def _prepare(
    config: KubeProxyConfig, machine: LinuxMachine, node: Node | None, *, on_a_cluster: bool
) -> list[Family]:
    """The part that may need more rights than the rules: --init-only does this much and no more."""
    limit_connections(config.conntrack, processors(), machine, must=on_a_cluster)
    families = usable_families(machine, Family(addresses_of_node(config, node).primary))
    prepare_iptables(config, machine, families, node)
    return families


def _api_server(
    invocation: Invocation, config: KubeProxyConfig, name: str, requests: RestMetrics
) -> "ApiServerSource | None":
    """The server to follow, unless something else is followed; only who follows one loads the means to."""
    named = bool(config.clientConnection.kubeconfig or invocation.master)
    if invocation.manifests or invocation.play:
        return None
    if invocation.init_only and not named and "KUBERNETES_SERVICE_HOST" not in os.environ:
        log.info("No API server is named and this is no pod, so the Node is not looked up", node=name)
        return None
    from kubeproxy.runtime.apiaccess import api_client
    from kubeproxy.sources.apiserver.source import ApiServerSource

    return ApiServerSource(api_client(invocation, config, requests), name)


def _files(invocation: Invocation) -> Source:
    if invocation.play:
        from kubeproxy.sources.recording import RecordingSource

        return RecordingSource(Path(invocation.play))
    from kubeproxy.sources.assemble import Ranges
    from kubeproxy.sources.manifests import ManifestsSource

    given = invocation.service_cidrs
    return ManifestsSource(Path(invocation.manifests), ranges=Ranges(given) if given else Ranges())


async def _run(proxy: Proxy, machine: LinuxMachine, invocation: Invocation) -> None:
    config, standing = proxy.config, Standing(proxy.config)
    health = HealthPages(proxy.health, lambda: proxy.eligible, proxy.metrics)
    pages = metrics_pages(invocation, standing, proxy.metrics)
    hard = config.bindAddressHardFail
    ports = {
        "healthzBindAddress": Port("Healthz", config.healthzBindAddress, health.answer, hard_fail=hard),
        "metricsBindAddress": Port("Metrics", config.metricsBindAddress, pages.answer, hard_fail=hard),
    }
    addresses = AddressWatch(lambda _: proxy.addresses_changed())
    addresses.start()
    try:
        async with asyncio.TaskGroup() as group:
            for port in ports.values():
                group.create_task(port.run(), name=port.name)
            if invocation.config:
                live = Live(proxy, machine, ports)
                reload = Reload(invocation, standing, proxy.metrics, live.apply)
                group.create_task(reload.run(), name="configuration")
            group.create_task(log.flush_regularly(), name="log")
            group.create_task(_proxy(proxy, machine), name="proxy")
    finally:
        addresses.close()


async def _proxy(proxy: Proxy, machine: LinuxMachine) -> None:
    """Whoever was killed may have left a program that still writes: until then, reading is in vain."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + PATIENCE
    while machine.writing():
        log.folded(log.info, "Waiting for what an earlier proxy still writes")
        if clock() > deadline:
            log.warning("An earlier proxy still writes; not waiting any longer", seconds=PATIENCE)
            break
        await asyncio.sleep(0.05)
    await proxy.run()
