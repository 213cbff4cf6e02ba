"""Values as a flag spells them: text becomes ours, or a ValueError says why not."""

from typing import Final

from kubeproxy.api.addresses import parse_cidr, parse_ip
from kubeproxy.config import goliteral
from kubeproxy.config.filevalue import VModuleItem
from kubeproxy.config.goliteral import quoted
from kubeproxy.config.hostport import split_host_port
from kubeproxy.config.release import KUBERNETES_VERSION, same_release

UINT31: Final = 2**31 - 1
_HIGHEST_PORT: Final = 65535


def switches(text: str) -> dict[str, bool]:
    switches: dict[str, bool] = {}
    for pair in text.split(","):
        if not pair:
            continue
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError("malformed pair, expect string=bool")
        try:
            switches[name.strip()] = goliteral.parse_bool(value.strip())
        except ValueError as error:
            raise ValueError(f"invalid value of {name.strip()}: {value.strip()}, err: {error}") from None
    return switches


def patterns(text: str) -> tuple[VModuleItem, ...]:
    items = []
    for pair in text.split(","):
        if not pair:
            continue
        pattern, _, verbosity = pair.partition("=")
        if not pattern or not verbosity or "=" in verbosity:
            raise ValueError(f"{quoted(pair)} does not have the pattern=N format")
        try:
            items.append(VModuleItem(pattern, goliteral.parse_decimal(verbosity, UINT31)))
        except ValueError as error:
            raise ValueError(f"parsing verbosity in {quoted(pair)}: {error}") from None
    return tuple(items)


def ip(text: str) -> str | None:
    """None when the flag is empty: then it says nothing, and whatever held before still holds."""
    if text == "":
        return None
    if parse_ip(text) is None:
        raise ValueError(f"{quoted(text)} is not a valid IP address")
    return text


def ip_port(text: str) -> str | None:
    if text == "":
        return None
    if parse_ip(text) is not None:
        return text
    parts = split_host_port(text)
    if parts is None:
        raise ValueError(f"{quoted(text)} is not an IP address, nor an IP address with a port")
    if parse_ip(parts[0]) is None:
        raise ValueError(f"{quoted(parts[0])} is not a valid IP address")
    if not parts[1].isascii() or not parts[1].isdigit() or int(parts[1][:6]) > _HIGHEST_PORT:
        raise ValueError(f"{quoted(parts[1])} is not a valid number")
    return text


def cidrs(text: str) -> tuple[str, ...]:
    values = goliteral.split_list(text)
    for value in values:
        if parse_cidr(value) is None:
            raise ValueError(f"{quoted(value)} is not a network")
    return values


def version(text: str) -> str:
    """What `--version` asks for: "" nothing, "true", "raw", or a version to call ourselves."""
    if text == "raw":
        return text
    if text.startswith("v"):
        if not same_release(text):
            ours = quoted(KUBERNETES_VERSION)
            raise ValueError(f"version {quoted(text)} must match major/minor/patch of default version {ours}")
        return text
    return "true" if goliteral.parse_bool(text) else ""


def choice(text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise ValueError(f"must be one of {', '.join(choices)}")
    return text
