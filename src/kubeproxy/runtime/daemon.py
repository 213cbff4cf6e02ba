"""The daemon, put together: which programs, which families, which source, and what runs beside the loop."""

import asyncio
import socket
from pathlib import Path

from kubeproxy.config.invocation import Invocation
from kubeproxy.config.node import node_name
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.kernel.listen import AddressWatch
from kubeproxy.runtime.ears import iptables_drift
from kubeproxy.runtime.healthz import HealthPages
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.machine import LinuxMachine
from kubeproxy.runtime.pages import MetricsPages, serve_pages
from kubeproxy.runtime.proxy import Proxy
from kubeproxy.runtime.setup import counter_metrics, iptables_backends
from kubeproxy.sources.notice import Source
from kubeproxy.sources.recording import Recorder

#: seconds to wait for programs that an earlier proxy started and that still run
PATIENCE = 30.0


async def serve(invocation: Invocation, config: KubeProxyConfig) -> None:
    """Everything before the first change: what fails here ends the process with a reason."""
    name = node_name(config.hostnameOverride, socket.gethostname())
    machine = LinuxMachine.found()
    log.info("Using iptables", flavour=machine.flavour, because=machine.because, version=machine.version)
    backends = iptables_backends(config, machine)
    if invocation.init_only:
        log.info("System initialized and --init-only specified")
        return
    recorder = Recorder(Path(invocation.record)) if invocation.record else None
    try:
        proxy = Proxy(config, name, _source(invocation), machine, backends, recorder)
        proxy.drift = iptables_drift(proxy, machine)
        for metric in counter_metrics(machine):
            proxy.metrics.add(metric)
        await _run(proxy, machine)
    finally:
        machine.stop()
        if recorder is not None:
            recorder.close()


def _source(invocation: Invocation) -> Source:
    if invocation.play:
        from kubeproxy.sources.recording import RecordingSource

        return RecordingSource(Path(invocation.play))
    from kubeproxy.sources.assemble import Ranges
    from kubeproxy.sources.manifests import ManifestsSource

    given = invocation.service_cidrs
    return ManifestsSource(Path(invocation.manifests), ranges=Ranges(given) if given else Ranges())


async def _run(proxy: Proxy, machine: LinuxMachine) -> None:
    config = proxy.config
    health = HealthPages(proxy.health, lambda: proxy.eligible, proxy.metrics)
    pages = MetricsPages(config.mode, proxy.metrics)
    addresses = AddressWatch(lambda _: proxy.addresses_changed())
    addresses.start()
    try:
        async with asyncio.TaskGroup() as group:
            for server, address, handler in (
                ("Healthz", config.healthzBindAddress, health.answer),
                ("Metrics", config.metricsBindAddress, pages.answer),
            ):
                if address:
                    serving = serve_pages(server, address, handler, hard_fail=config.bindAddressHardFail)
                    group.create_task(serving, name=server)
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
