"""However a node came to where it is, the real kernel holds what a fresh start would make."""

import pytest

from kubeproxy.backends.iptables.names import port_hash
from kubeproxy.kernel.processes import Flavour
from kubeproxy.model.identity import Family, PortName, Protocol
from tests.lab.kernels import real_kernel
from tests.runtime.convergence import converges
from tests.runtime.rig import Rig
from tests.runtime.shops import closed, pods, shops

#: a portion of two Services, so that even this little cluster is loaded in portions
CASES = [(Flavour.NFT, 2), (Flavour.LEGACY, None)]


@pytest.mark.parametrize(("flavour", "portion"), CASES)
def test_changes_one_by_one_leave_what_a_fresh_start_leaves(flavour, portion):
    assert converges(20262, 300, lambda: real_kernel(flavour), portion=portion) > 300


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("flavour", "portion"), CASES)
def test_a_thousand_of_other_stories(flavour, portion, seed):
    assert converges(seed, 1000, lambda: real_kernel(flavour), portion=portion) > 1000


@pytest.mark.parametrize("flavour", list(Flavour))
def test_somebodys_own_rule_into_a_chain_of_ours_blocks_nobody(flavour):
    """A chain with a rule that leads to it cannot be deleted; what does not need to go must come all the same."""
    name = f"KUBE-SVC-{port_hash(PortName('shop', 's3', '', Protocol.TCP, Family.IPV4))}"
    with real_kernel(flavour) as kernel, Rig(kernel) as rig:
        rig.hear(*shops(range(9)))
        kernel.ns.run([f"iptables-{flavour}", "-t", "nat", "-A", "PREROUTING", "-d", "192.0.2.1", "-j", name])
        report = rig.hear(*closed(3), pods(4, 3))[Family.IPV4]
        assert (report.ok, report.culprits, report.refusals) == (True, (), 1)
        held = rig.dump(Family.IPV4)
        assert f":{name} - [0:0]" in held
        assert not any(line.startswith(f"-A {name} ") for line in held)
        assert any("10.77.4.3:8080" in line for line in held)
