"""`kube-proxy render`: the rules that a directory of manifests leads to, as iptables-restore takes them."""

import sys
from collections.abc import Sequence

from kubeproxy.backends.iptables.backend import IPTables
from kubeproxy.backends.iptables.dialect import Facts
from kubeproxy.backends.iptables.text import whole
from kubeproxy.cli.options import Option, OptionError, split_options
from kubeproxy.cli.picture import picture
from kubeproxy.cli.settings import Unusable, load
from kubeproxy.config.commandline import FlagError
from kubeproxy.config.invocation import parse_flags
from kubeproxy.model.identity import Family

USAGE = """\
kube-proxy render --manifests DIR [--config FILE] [--hostname-override NODE] [--ip-family ipv4|ipv6]

Prints the rules that the manifests lead to on this node, as iptables-restore takes them. Nothing is
programmed and nothing is asked of the kernel. Every flag of the daemon that shapes rules counts.
"""

_FAMILY = Option("ip-family", ("ipv4", "ipv6"))
_WORDS = {"ipv4": Family.IPV4, "ipv6": Family.IPV6}


def main(arguments: Sequence[str]) -> int:
    try:
        own, rest = split_options(arguments, (_FAMILY,))
        invocation = parse_flags(rest)
        if invocation.help:
            print(USAGE, end="")
            return 0
        if not invocation.manifests:
            raise OptionError("no manifests to render; name their directory with --manifests DIR")
        config = load(invocation)
    except (OptionError, FlagError) as error:
        print(f"kube-proxy render: {error}\n\n{USAGE}", file=sys.stderr, end="")
        return 1
    except Unusable:
        return 1
    cluster = picture(invocation, config)
    families = [_WORDS[own["ip-family"]]] if "ip-family" in own else list(Family)
    for family in families:
        ipv6 = family is Family.IPV6
        facts = Facts(counts_invalid=True, counts_loopback=True)
        backend = IPTables(ipv6=ipv6, portion=None, masquerade_bit=config.masquerade_bit, facts=facts)
        wanted = backend.prepare(cluster.views[family])
        backend.compile(wanted, dict(cluster.routes[family]))
        if len(families) > 1:
            print(f"# {family.value}: {'ip6tables' if ipv6 else 'iptables'}-restore --noflush --counters")
        for _, text in whole(wanted):
            print(text, end="")
    return 0
