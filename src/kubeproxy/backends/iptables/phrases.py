"""Every rule we ever write, as a phrase with blanks to fill in.

A phrase is spoken in two ways: as it is given to iptables-restore, and as iptables-save prints it back,
which is how a restart recognises what already stands. The second is derived from the first.
"""

from collections.abc import Callable
from functools import lru_cache

from kubeproxy.backends.iptables.dialect import Dialect, local_words
from kubeproxy.backends.iptables.names import INVALID_COUNTER, LOOPBACK_COUNTER, MARK_MASQ
from kubeproxy.routes.route import FrontendKind
from kubeproxy.wire.iptsave import as_saved

Phrase = Callable[..., str]

#: how rule comments name the kinds of address
KIND_WORDS = {
    FrontendKind.CLUSTER_IP: "cluster IP",
    FrontendKind.EXTERNAL_IP: "external IP",
    FrontendKind.LOAD_BALANCER: "loadbalancer IP",
}

# blanks: {0} is always the ServicePort's name, {1} its protocol word
_TO_ADDRESS = "-m {1} -p {1} -d {2} --dport {3}"
_TO_NODE_PORT = "-m {1} -p {1} --dport {2}"


class Phrases:
    """The phrases of one dialect, spoken one way; each attribute fills in the blanks of one rule."""

    def __init__(self, dialect: Dialect, *, saved: bool) -> None:
        self.dialect, self.saved = dialect, saved
        self._service_phrases()
        self._external_phrases()
        self.commented = EndpointPhrases(self, commented=True)
        self.bare = EndpointPhrases(self, commented=False)

    def phrase(self, text: str) -> Phrase:
        return (as_saved(text, ipv6=self.dialect.ipv6) if self.saved else text).format

    def line(self, text: str) -> str:
        """One whole rule, without blanks."""
        return as_saved(text, ipv6=self.dialect.ipv6) if self.saved else text

    def _service_phrases(self) -> None:
        phrase = self.phrase
        cluster = f'-m comment --comment "{{0}} cluster IP" {_TO_ADDRESS}'
        pods = local_words(self.dialect.detector)
        self.dispatch = {
            kind: phrase(f'-m comment --comment "{{0}} {words}" {_TO_ADDRESS} -j {{4}}')
            for kind, words in KIND_WORDS.items()
        }
        self.dispatch_node_port = phrase(f"-m comment --comment {{0}} {_TO_NODE_PORT} -j {{3}}")
        counter = f" -m nfacct --nfacct-name {LOOPBACK_COUNTER}"
        self.dispatch_loopback = phrase(
            f"-m comment --comment {{0}} -m {{1}} -p {{1}} -d 127.0.0.0/8 --dport {{2}}{counter} -j {{3}}"
        )
        self.mark_all = phrase(f"{cluster} -j {MARK_MASQ}")
        outsiders = f"! {pods}" if pods else ""
        self.mark_outsiders = phrase(f"{cluster} {outsiders}-j {MARK_MASQ}")
        refusal = '-m comment --comment "{0} {4}" ' + _TO_ADDRESS
        self.reject, self.drop = phrase(f"{refusal} -j REJECT"), phrase(f"{refusal} -j DROP")
        node_port = '-m comment --comment "{0} {3}" -m addrtype --dst-type LOCAL ' + _TO_NODE_PORT
        self.reject_node_port = phrase(f"{node_port} -j REJECT")
        self.drop_node_port = phrase(f"{node_port} -j DROP")
        self.drop_unlisted = phrase(
            f'-m comment --comment "{{0}} traffic not accepted by {{4}}" {_TO_ADDRESS} -j DROP'
        )
        self.accept_health = phrase(
            '-m comment --comment "{0} health check node port" -m tcp -p tcp --dport {1} -j ACCEPT'
        )

    def _external_phrases(self) -> None:
        phrase = self.phrase
        pods = local_words(self.dialect.detector)
        local = "-m addrtype --src-type LOCAL"
        outside = "for {0} external destinations"
        self.mark_external = phrase(f'-m comment --comment "masquerade traffic {outside}" -j {MARK_MASQ}')
        self.pods_inside = phrase(f'-m comment --comment "pod traffic {outside}" {pods}-j {{1}}')
        self.mark_host = phrase(
            f'-m comment --comment "masquerade LOCAL traffic {outside}" {local} -j {MARK_MASQ}'
        )
        self.host_inside = phrase(f'-m comment --comment "route LOCAL traffic {outside}" {local} -j {{1}}')
        self.go = phrase("-j {0}")
        # The source is a network or an address: spelled as the caller has it, with its length when saved.
        self.allow = phrase('-m comment --comment "{0} loadbalancer IP" -s {1}/{2} -j {3}')
        self.allow_address = phrase('-m comment --comment "{0} loadbalancer IP" -s {1} -j {2}')
        self.rest_is_dropped = phrase(
            '-m comment --comment "other traffic to {0} will be dropped by KUBE-PROXY-FIREWALL"'
        )


class EndpointPhrases:
    """The rules there are most of; large clusters leave their comments out."""

    def __init__(self, phrases: Phrases, *, commented: bool) -> None:
        phrase = phrases.phrase
        choice = '-m comment --comment "{0} -> {1}" ' if commented else ""
        name = "-m comment --comment {0} " if commented else ""
        self.remember = phrase(f"{choice}-m recent --name {{2}} --rcheck --seconds {{3}} --reap -j {{2}}")
        self.chance = phrase(f"{choice}-m statistic --mode random --probability {{3}} -j {{2}}")
        self.last = phrase(f"{choice}-j {{2}}")
        self.hairpin = phrase(f"{name}-s {{1}} -j {MARK_MASQ}")
        self.rewrite = phrase(f"{name}-m {{1}} -p {{1}} -j DNAT --to-destination {{2}}")
        self.rewrite_sticky = phrase(
            f"{name}-m recent --name {{3}} --set -m {{1}} -p {{1}} -j DNAT --to-destination {{2}}"
        )


@lru_cache(maxsize=8)
def phrases_of(dialect: Dialect, *, saved: bool = False) -> Phrases:
    return Phrases(dialect, saved=saved)


@lru_cache(maxsize=4096)
def chance_text(remaining: int, *, saved: bool) -> str:
    """One in `remaining`, as it is written and as the kernel gives it back."""
    written = f"{1 / remaining:.10f}"
    return f"{round(float(written) * 0x80000000) / 0x80000000:.11f}" if saved else written


def drop_invalid_words(dialect: Dialect) -> str:
    counter = f"-m nfacct --nfacct-name {INVALID_COUNTER} " if dialect.facts.counts_invalid else ""
    return f"-m conntrack --ctstate INVALID {counter}-j DROP"
