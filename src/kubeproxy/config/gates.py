"""Feature gates: which there are, what they switch here, and what is wrong with those that were asked for."""

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Final

from msgspec import Struct

from kubeproxy.config.complaint import Complaint, Form, Notice, Remark
from kubeproxy.config.gatenames import LATER, LOCKED_DEPRECATED, NAMES, NEEDS, UNLOCKED_GA


class Stage(Enum):
    """How far a feature has come."""

    ALPHA = "alpha"
    BETA = "beta"
    GA = "GA"
    DEPRECATED = "deprecated"


class Gate(Struct, frozen=True, gc=False):
    """A feature that can be switched; a locked one can only be confirmed."""

    name: str
    stage: Stage
    default: bool
    locked: bool


#: what the gates do that this proxy looks at; all others are accepted and change nothing
PROXY_GATES: Final = {
    "AllowServiceExternalIPs": "off: externalIPs of Services are ignored",
    "ComponentFlagz": "the page /flagz",
    "ComponentStatusz": "the page /statusz",
    "ContextualLogging": "log lines name the part they come from",
    "KubeProxyIPVS": "off: ipvs is not a valid mode",
    "KubeProxyNFTablesLocalhostNodePorts": "mode nftables: node ports answer on loopback addresses if listed",
    "LoggingAlphaOptions": "split streams and buffers for log lines",
    "LoggingBetaOptions": "log lines as JSON",
    "MultiCIDRServiceAllocator": "the cluster's ServiceCIDRs are watched",
    "NFTablesNetlink": "no effect: rules are always read and written by netlink",
    "NativeHistograms": "native histograms for scrapers that understand them",
    "PreferSameTrafficDistribution": "hints for the same node or zone are honoured",
    "WatchListClient": "initial lists are streamed",
}
_ALL: Final = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}


@cache
def gates() -> dict[str, Gate]:
    """Every gate that may be named, by name."""
    known = {}
    for stage_name, default, names in NAMES + LATER:
        stage = Stage[stage_name]
        for name in names.split():
            locked = name not in UNLOCKED_GA if stage is Stage.GA else name in LOCKED_DEPRECATED
            known[name] = Gate(name, stage, default, locked)
    return known


def gate_enabled(given: Mapping[str, bool], name: str) -> bool:
    """Whether a feature is on, given what was asked for; KeyError when there is no such gate."""
    gate = gates()[name]
    if name in given:
        return given[name]
    for everything, stage in _ALL.items():
        if stage is gate.stage and everything in given and name not in _ALL and not gate.locked:
            return given[everything]
    return gate.default


def gate_complaints(given: Mapping[str, bool]) -> tuple[Complaint, ...]:
    """All that is wrong with the gates asked for."""
    wrong = [_wrong(name, given[name]) for name in sorted(given)]
    complaints = [complaint for complaint in wrong if complaint is not None]
    if complaints:
        return tuple(complaints)
    return tuple(_dependent(name, given) for name in sorted(NEEDS) if _missing(name, given))


def gate_notices(given: Mapping[str, bool]) -> tuple[Notice, ...]:
    """Gates that a later release will not know, so that an upgrade does not stumble over them."""
    old = [name for name in sorted(given) if name in gates()]
    old = [name for name in old if gates()[name].stage in (Stage.GA, Stage.DEPRECATED)]
    return tuple(
        Notice(Remark.OLD_GATE, f"{name} is {gates()[name].stage.value}", "a later release will not know it")
        for name in old
    )


def _wrong(name: str, value: bool) -> Complaint | None:
    gate = gates().get(name)
    if gate is None:
        return _complaint(name, value, f"unrecognized feature gate: {name}", _suggestion(name))
    if gate.locked and value is not gate.default:
        wanted, is_locked = _word(value), _word(gate.default)
        said = f"cannot set feature gate {name} to {wanted}, feature is locked to {is_locked}"
        return _complaint(name, value, said, "remove it")
    return None


def _missing(name: str, given: Mapping[str, bool]) -> list[str]:
    if not gate_enabled(given, name):
        return []
    return [needed for needed in NEEDS[name] if not gate_enabled(given, needed)]


def _dependent(name: str, given: Mapping[str, bool]) -> Complaint:
    missing = _missing(name, given)
    said = f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"
    remedy = f"switch {' and '.join(missing)} on, or {name} off"
    return _complaint(name, True, said, remedy)


def _complaint(name: str, value: bool, problem: str, remedy: str) -> Complaint:
    return Complaint(f"featureGates.{name}", value, problem, remedy, form=Form.PLAIN)


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    alike = get_close_matches(name, gates(), n=1)
    return f"did you mean {alike[0]}?" if alike else "remove it: no component of this release has it"


def _word(value: bool) -> str:
    return "true" if value else "false"
