"""Who dials what, where it arrives, and whom the pod sees. Every dialect tells these, and so do real packets.

The stories of one list share the settings of the node they happen on. Those that differ between the IP
families or the dialects stand in lists of their own.
"""

from typing import Final, TypeAlias

#: who sends, what they dial, where it arrives, whom the pod sees
Cell: TypeAlias = tuple[str, str, str, str]

USUAL: Final[list[Cell]] = [
    # cluster IP
    ("a pod", "web cluster IP", "l or r", "the client"),
    ("pod l", "web cluster IP", "l or r", "l: this node, r: the client"),
    ("pod r", "web cluster IP", "l or r", "l: the client, r: this node"),
    ("this node", "web cluster IP", "l or r", "this node"),
    ("a client", "web cluster IP", "l or r", "this node"),
    ("another node", "web cluster IP", "l or r", "this node"),
    ("a pod", "edge cluster IP", "l or r", "the client"),
    ("this node", "edge cluster IP", "l or r", "this node"),
    ("a pod", "near cluster IP", "l", "the client"),
    ("pod l", "near cluster IP", "l", "this node"),
    ("this node", "near cluster IP", "l", "this node"),
    ("a client", "near cluster IP", "l", "this node"),
    ("a pod", "away cluster IP", "dropped", ""),
    ("this node", "away cluster IP", "dropped", ""),
    ("a client", "away cluster IP", "dropped", ""),
    ("a pod", "void cluster IP", "refused", ""),
    ("this node", "void cluster IP", "refused", ""),
    ("a client", "void cluster IP", "refused", ""),
    ("a pod", "last cluster IP", "r", "the client"),
    ("a pod", "gate cluster IP", "l", "the client"),
    ("another client", "gate cluster IP", "l", "this node"),
    ("another client", "shut cluster IP", "r", "this node"),
    ("a pod", "dark cluster IP", "refused", ""),
    # node port
    ("a pod", "web node port", "l or r", "this node"),
    ("pod l", "web node port", "l or r", "this node"),
    ("this node", "web node port", "l or r", "this node"),
    ("a client", "web node port", "l or r", "this node"),
    ("a client", "web node port at node's second address", "l or r", "this node"),
    ("a pod", "edge node port", "l or r", "the client"),
    ("pod r", "edge node port", "l or r", "l: the client, r: this node"),
    ("this node", "edge node port", "l or r", "this node"),
    ("a client", "edge node port", "l", "the client"),
    ("another node", "edge node port", "l", "the client"),
    ("a client", "near node port", "l or r", "this node"),
    ("a pod", "away node port", "r", "the client"),
    ("this node", "away node port", "r", "this node"),
    ("a client", "away node port", "dropped", ""),
    ("a pod", "void node port", "refused", ""),
    ("this node", "void node port", "refused", ""),
    ("a client", "void node port", "refused", ""),
    ("a client", "void node port at node's second address", "refused", ""),
    ("another client", "gate node port", "l", "this node"),
    ("a pod", "gate node port", "l", "this node"),
    ("a client", "last node port", "l", "the client"),
    ("a pod", "last node port", "r", "the client"),
    ("another client", "shut node port", "dropped", ""),
    ("a pod", "shut node port", "r", "the client"),
    ("another client", "dark node port", "refused", ""),
    # external IP
    ("a pod", "web external IP", "l or r", "this node"),
    ("this node", "web external IP", "l or r", "this node"),
    ("a client", "web external IP", "l or r", "this node"),
    ("a pod", "void external IP", "refused", ""),
    ("a client", "void external IP", "refused", ""),
    # load balancer IP
    ("a pod", "web VIP", "l or r", "this node"),
    ("this node", "web VIP", "l or r", "this node"),
    ("a client", "web VIP", "l or r", "this node"),
    ("a pod", "edge VIP", "l or r", "the client"),
    ("this node", "edge VIP", "l or r", "this node"),
    ("a client", "edge VIP", "l", "the client"),
    ("another node", "edge VIP", "l", "the client"),
    ("a client", "near VIP", "l or r", "this node"),
    ("a pod", "away VIP", "r", "the client"),
    ("this node", "away VIP", "r", "this node"),
    ("a client", "away VIP", "dropped", ""),
    ("a pod", "void VIP", "refused", ""),
    ("a client", "void VIP", "refused", ""),
    ("a client", "last VIP", "l", "the client"),
    # source ranges
    ("a client", "gate VIP", "l", "this node"),
    ("a client", "gate second VIP", "l", "this node"),
    ("another client", "gate VIP", "dropped", ""),
    ("another client", "gate second VIP", "dropped", ""),
    ("a pod", "gate VIP", "dropped", ""),
    ("this node", "gate VIP", "l", "this node"),
    ("gate's first VIP", "gate second VIP", "l", "this node"),
    ("another node", "gate VIP", "l", "this node"),
    ("a client", "shut VIP", "dropped", ""),
    ("another client", "shut VIP", "dropped", ""),
    ("this node", "shut VIP", "r", "this node"),
    ("a pod", "shut VIP", "dropped", ""),
    ("a client", "dark VIP", "refused", ""),
    # nobody's
    ("a pod", "web VIP:81", "untouched", ""),
    ("a pod", "web external IP:81", "untouched", ""),
    ("a pod", "web VIP/UDP", "untouched", ""),
    ("a client", "web node port/UDP", "untouched", ""),
    ("a client", "web node port/SCTP", "untouched", ""),
    ("a client", "node:22", "untouched", ""),
    ("a pod", "the internet:443", "untouched", ""),
    ("a pod", "the internet:0/ICMP", "untouched", ""),
    ("a pod", "pod r:8080", "untouched", ""),
    ("a client", "edge health check port", "untouched", ""),
    ("a client", "away health check port", "untouched", ""),
    ("a client", "last health check port", "untouched", ""),
]

#: where iptables has manners of its own
IPTABLES: Final[list[Cell]] = [
    ("a pod", "web cluster IP/UDP", "untouched", ""),
    ("a pod", "web cluster IP:81", "untouched", ""),
    ("a pod", "web cluster IP:0/ICMP", "untouched", ""),
    ("a pod", "unallocated:80", "untouched", ""),
    ("this node", "void VIP", "untouched", ""),
    ("this node", "void external IP", "untouched", ""),
    ("another client", "dark VIP", "refused", ""),
    ("this node's loopback", "void node port at loopback", "refused", ""),
]

#: node ports on 127.0.0.1, which only IPv4 has
LOOPBACK: Final[list[Cell]] = [
    ("this node's loopback", "web node port at loopback", "l or r", "this node"),
    ("this node's loopback", "edge node port at loopback", "l or r", "this node"),
    ("this node's loopback", "away node port at loopback", "r", "this node"),
    ("this node", "web node port at loopback", "l or r", "this node"),
    ("a client", "web node port at loopback", "l or r", "this node"),
    ("a client", "void node port at loopback", "dropped", ""),
    ("a client", "loopback:22", "dropped", ""),
    ("this node's loopback", "loopback:22", "untouched", ""),
]
#: with node ports on loopback switched off, or in IPv6
NO_LOOPBACK: Final[list[Cell]] = [
    ("this node's loopback", "web node port at loopback", "untouched", ""),
    ("this node's loopback", "away node port at loopback", "dropped", ""),
    ("a client", "web node port at loopback", "untouched", ""),
    ("a client", "loopback:22", "untouched", ""),
]

#: nobody can tell pods apart
NO_DETECTOR: Final[list[Cell]] = [
    ("this node", "web cluster IP", "l or r", "the client"),
    ("a client", "web cluster IP", "l or r", "the client"),
    ("a pod", "web cluster IP", "l or r", "the client"),
    ("pod l", "web cluster IP", "l or r", "l: this node, r: the client"),
    ("a pod", "web VIP", "l or r", "this node"),
    ("a pod", "edge VIP", "l", "the client"),
    ("a pod", "edge node port", "l", "the client"),
    ("this node", "edge node port", "l or r", "this node"),
    ("a pod", "away VIP", "dropped", ""),
    ("this node", "away VIP", "r", "this node"),
]
#: only this node's own pods are told apart
OWN_PODS_ONLY: Final[list[Cell]] = [
    ("a pod", "web cluster IP", "l or r", "the client"),
    ("pod r", "web cluster IP", "l or r", "this node"),
    ("pod r", "near cluster IP", "l", "this node"),
    ("pod r", "edge VIP", "l", "the client"),
    ("pod r", "edge node port", "l", "the client"),
    ("pod r", "away VIP", "dropped", ""),
    ("pod l", "edge VIP", "l or r", "l: this node, r: the client"),
]
MASQUERADE_ALL: Final[list[Cell]] = [
    ("a pod", "web cluster IP", "l or r", "this node"),
    ("a pod", "near cluster IP", "l", "this node"),
    ("a client", "web cluster IP", "l or r", "this node"),
    ("a pod", "edge VIP", "l or r", "the client"),
    ("a client", "edge VIP", "l", "the client"),
    ("a pod", "web node port", "l or r", "this node"),
]
#: node ports on the node's first address only
ONE_ADDRESS: Final[list[Cell]] = [
    ("a client", "web node port", "l or r", "this node"),
    ("a client", "web node port at node's second address", "untouched", ""),
    ("a client", "edge node port at node's second address", "untouched", ""),
    ("this node", "web node port at node's second address", "untouched", ""),
    ("this node's loopback", "web node port at loopback", "untouched", ""),
]
ONE_ADDRESS_IPTABLES: Final[list[Cell]] = [
    ("a client", "void node port at node's second address", "refused", ""),
    ("a client", "away node port at node's second address", "dropped", ""),
    ("a pod", "away node port at node's second address", "dropped", ""),
]
#: every EndpointSlice is gone
EMPTY: Final[list[Cell]] = [
    (who, f"{shop} {address}", "refused", "")
    for who in ("a pod", "a client", "another client")
    for shop in ("web", "edge", "near", "away", "gate", "last", "keen", "shut")
    for address in ("cluster IP", "node port", "VIP")
]

#: who sends, what they dial, where they went before, where they go now
AFFINITY: Final[list[Cell]] = [
    ("a client", "keen VIP", "", "l or r"),
    ("a client", "keen VIP", "l", "l"),
    ("a client", "keen node port", "r", "r"),
    ("a pod", "keen cluster IP", "r", "r"),
    ("this node", "keen cluster IP", "l", "l"),
    ("a client", "web VIP", "l", "l or r"),
]
