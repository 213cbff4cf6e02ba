"""Other people's rules through a whole life of ours: none is lost, changed or moved, whatever we do."""

import contextlib

import pytest

from kubeproxy.backends.iptables.names import endpoint_hashes
from tests.lab.daemon import command, daemon, until, write_json
from tests.lab.foreign import BEFORE, DURING, PROGRAM, busybody, duplicates, hints, restore, saved
from tests.lab.netns import namespace
from tests.lab.shops import endpoint_slice, write_shops
from tests.lab.test_drift import DELETED_CHAIN, FLAVOURS, S0, act, repairs

CHANGES = 100


def endpoint(number: int) -> str:
    return f"10.77.200.{number}"


def chain(number: int) -> str:
    return f"KUBE-SEP-{endpoint_hashes(S0, [f'{endpoint(number)}:8080'])[0]}"


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_rule_of_others_stays_identical_and_in_order(tmp_path, flavour):
    """Docker's, a CNI's and the kubelet's, above and below ours, while somebody adds more all the time."""
    manifests = write_shops(tmp_path / "manifests", 20, 3)
    program = PROGRAM[flavour]
    with namespace() as ns, contextlib.ExitStack() as stack:
        hints(ns, flavour)
        restore(ns, flavour, BEFORE)
        before = saved(ns, flavour)
        assert before.ours == {}
        adding = stack.enter_context(busybody(ns, flavour, "early"))
        with daemon(ns, manifests) as running:
            running.wait_synced()
            adding.finish()
            assert saved(ns, flavour).others == adding.expected(before.others), "start"

            restore(ns, flavour, DURING)
            ours, others = saved(ns, flavour)
            adding = stack.enter_context(busybody(ns, flavour, "midway"))
            for number in range(CHANGES):
                write_json(manifests / "change.yaml", endpoint_slice(0, [endpoint(number)]))
                there = [program, "-w", "30", "-t", "nat", "-S", chain(number), "1"]
                until(
                    lambda argv=there: ns.run(argv, check=False).returncode == 0,
                    f"changed for the {number + 1}th time:\n{running.log}",
                )
            (manifests / "change.yaml").unlink()
            until(lambda: saved(ns, flavour).ours == ours, f"as before the changes:\n{running.log}")

            act(ns, flavour, DELETED_CHAIN)
            until(lambda: repairs(running) >= 1, f"repaired:\n{running.log}")
            until(lambda: saved(ns, flavour).ours == ours, f"whole again:\n{running.log}")
            adding.finish()
            assert adding.added > 10
            others = adding.expected(others)
            assert saved(ns, flavour).others == others, "changes and repair"
            assert duplicates(saved(ns, flavour)) == {}
            running.stop()

        adding = stack.enter_context(busybody(ns, flavour, "late"))
        ns.run(command("--cleanup"))
        adding.finish()
        left = saved(ns, flavour)
        assert left.ours == {}, "nothing of ours is left"
        assert left.others == adding.expected(others), "clean-up"
