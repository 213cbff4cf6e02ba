"""Whether the logging part of a configuration makes sense."""

from collections.abc import Iterator

from kubeproxy.config.complaint import Complaint, Form
from kubeproxy.config.gates import gate_enabled
from kubeproxy.config.schema import JSONLogging, KubeProxyConfig, TextLogging


def check_logging(config: KubeProxyConfig) -> Iterator[Complaint]:
    logging, gates = config.logging, config.featureGates
    if logging.flushFrequency <= 0:
        remedy = "the usual value is 5s"
        said = "Must be greater than zero"
        yield Complaint("logging.flushFrequency", logging.flushFrequency, said, remedy)
    known = ("text", "json")
    if logging.format not in known:
        yield Complaint("logging.format", logging.format, "Unsupported log format", "write text or json")
    elif logging.format == "json" and not gate_enabled(gates, "LoggingBetaOptions"):
        said = "Log format json is disabled, see LoggingBetaOptions feature"
        remedy = "write text, or leave the gate LoggingBetaOptions on"
        yield Complaint("logging.format", logging.format, said, remedy, form=Form.FORBIDDEN)
    yield from _patterns(config)
    if not gate_enabled(gates, "LoggingAlphaOptions"):
        yield from _alpha("logging.options.text", logging.options.text)
        yield from _alpha("logging.options.json", logging.options.json)


def _patterns(config: KubeProxyConfig) -> Iterator[Complaint]:
    items = config.logging.vmodule
    if items and config.logging.format != "text":
        said, remedy = "Only supported for text log format", "remove it, or write format: text"
        yield Complaint("logging.vmodule", len(items), said, remedy, form=Form.FORBIDDEN)
    for place, item in enumerate(items):
        if not item.filePattern:
            said, remedy = (
                "File pattern must not be empty",
                "name a source file without its ending, or remove the entry",
            )
            yield Complaint(f"logging.vmodule[{place}]", "", said, remedy, form=Form.REQUIRED)


def _alpha(block: str, options: TextLogging | JSONLogging) -> Iterator[Complaint]:
    said = "Feature LoggingAlphaOptions is disabled"
    remedy = "remove it, or switch on the gate LoggingAlphaOptions"
    if options.splitStream:
        yield Complaint(f"{block}.splitStream", True, said, remedy, form=Form.FORBIDDEN)
    if options.infoBufferSize != "0":
        yield Complaint(f"{block}.infoBufferSize", options.infoBufferSize, said, remedy, form=Form.FORBIDDEN)
