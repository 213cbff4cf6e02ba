"""Row: what the table says of one field of the configuration, beside its name, its type and its default."""

from enum import Enum
from typing import Any

from msgspec import Struct

from kubeproxy.config.kind import Kind


class Group(Enum):
    """What an operator is thinking about; the value is the heading in --help and in the docs."""

    RUN = "What to run"
    SOURCE = "Where Services come from"
    API = "API server"
    NODE = "This node"
    TRAFFIC = "Services on this node"
    LOCAL = "Which traffic comes from pods"
    IPTABLES = "Mode iptables"
    NFTABLES = "Mode nftables"
    IPVS = "Mode ipvs"
    USERSPACE = "Mode userspace"
    CONNTRACK = "Connection tracking"
    SERVERS = "Health and metrics"
    LOGGING = "Logging"
    IGNORED = "Accepted, without effect"


class When(Enum):
    """When a file gives a field its value; otherwise the default holds."""

    #: the field is there; null is the same as absent
    GIVEN = "given"
    #: the field is there and not zero or empty: a file cannot set it to zero
    NOT_EMPTY = "given, and neither zero nor empty"
    #: the field is there, even as zero; null is the same as absent, also for a duration
    NOT_NULL = "given, even as zero"


class Written(Enum):
    """When a written file shows the field."""

    ALWAYS = "always"
    NOT_EMPTY = "unless zero or empty"
    IN_USERSPACE = "in mode userspace"


class Row(Struct, frozen=True):
    """One line of the table; what it leaves out follows from the field's type and block."""

    meaning: str
    flag: str = ""
    when: When = When.GIVEN
    kind: Kind | None = None
    group: Group | None = None
    #: only these modes look at it; none named: all do
    modes: tuple[str, ...] = ()
    #: the flag's own default, where it is not the file's
    flag_default: Any = None
    #: the flag counts even when a file is given
    beside_file: bool = False
    written: Written = Written.ALWAYS
    #: a change of it can be applied to a proxy that runs
    live: bool = False
