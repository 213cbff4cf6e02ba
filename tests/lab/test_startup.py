"""From the first flag to the first page: what the daemon does to its host, and when it gives up."""

import signal
from pathlib import Path

import pytest

from tests.lab.daemon import CONFIG, command, daemon, saved
from tests.lab.netns import namespace

NF = "net/netfilter/nf_conntrack_"
LOCALNET = "net/ipv4/conf/all/route_localnet"
LEAVE = ("--conntrack-max-per-core=0", "--conntrack-tcp-timeout-close-wait=0")


@pytest.fixture
def node():
    with namespace("node") as ns:
        yield ns


@pytest.fixture
def manifests(tmp_path):
    folder = tmp_path / "manifests"
    folder.mkdir()
    return folder


def setting(ns, path):
    return ns.run(["cat", f"/proc/sys/{path}"]).stdout.strip()


def test_a_namespace_that_may_not_write_the_limit_is_told_the_way_around(node):
    """The limit belongs to the host; a proxy in a namespace of its own can only leave it alone."""
    if setting(node, f"{NF}max") == "131073":
        pytest.skip("the host has the very limit that is asked for")
    done = node.run(
        command("--init-only", "--conntrack-min=131073", "--conntrack-max-per-core=1"), check=False
    )
    assert done.returncode == 1
    first, second = done.stderr.splitlines()[-2:]
    assert '"Error running ProxyServer" err="could not set conntrack parameters from kube-proxy' in first
    assert (
        '"command failed" err="could not set conntrack parameters from kube-proxy configuration: ' in second
    )
    assert f"sysctl {NF}max=131073: Permission denied" in second
    assert "conntrack.maxPerCore: 0 leaves it alone" in second


def test_init_only_does_what_takes_more_rights_and_ends(node):
    node.run(["nft", "add", "table", "ip", "kube-proxy"])
    node.run(["nft", "add", "table", "ip", "theirs"])
    done = node.run(command("--init-only", "--conntrack-tcp-be-liberal", *LEAVE))
    assert done.stderr.count('"System initialized and --init-only specified"') == 2
    assert setting(node, f"{NF}tcp_timeout_established") == "86400"
    assert setting(node, f"{NF}tcp_timeout_close_wait") == "60"
    assert setting(node, f"{NF}tcp_be_liberal") == "1"
    assert setting(node, LOCALNET) == "1"
    assert node.run(["nft", "list", "tables"]).stdout == "table ip theirs\n"
    assert "KUBE" not in saved(node)


def test_without_node_ports_on_loopback_nothing_is_routed_there(node):
    node.run(command("--init-only", "--nodeport-addresses=192.0.2.0/24", *LEAVE))
    assert setting(node, LOCALNET) == "0"


def test_without_ipv6_one_family_is_enough(node):
    done = node.run(["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"])
    done = node.run(command("--init-only", *LEAVE))
    assert '"Kernel support disabled for family" ipFamily="IPv6"' in done.stderr
    assert '"kube-proxy running in single-stack mode" primary="IPv4"' in done.stderr
    assert done.stderr.count('"System initialized and --init-only specified"') == 1


def test_a_primary_family_that_the_host_lacks_ends_the_start(node):
    node.run(["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"])
    done = node.run(command("--init-only", "--bind-address=2001:db8::1", *LEAVE), check=False)
    assert done.returncode == 1
    assert 'no support for primary IP family \\"IPv6\\"' in done.stderr


def test_the_order_of_the_first_lines_and_the_score(node, manifests):
    with daemon(node, manifests, CONFIG + "oomScoreAdj: 123\n") as running:
        running.wait_synced()
        said = [line.partition("] ")[2].split('"')[1] for line in running.lines]
        assert said[:5] == [
            "Using iptables",
            "kube-proxy running in dual-stack mode",
            "Changed sysctl",
            "Version info",
            "Kube-proxy configuration may be incomplete or incorrect",
        ]
        assert Path(f"/proc/{running.child.pid}/oom_score_adj").read_text() == "123\n"
        assert running.stop() == -signal.SIGTERM


def test_a_configuration_that_cannot_fit_the_node_ends_it_before_any_rule(node, manifests):
    node.run(["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"])
    wrong = CONFIG.replace("clusterCIDR: 10.77.0.0/16,fd00:10:77::/48", "clusterCIDR: fd00:10:77::/48")
    with daemon(node, manifests, wrong) as running:
        assert running.ended() == 1
    assert "kube-proxy configuration is incorrect: cluster is IPv4-only but clusterCIDRs" in running.log
    assert "KUBE-SERVICES" not in saved(node)


def test_cleanup_takes_the_tables_of_another_mode_along(node):
    node.run(["nft", "add", "table", "ip6", "kube-proxy"])
    node.run(command("--cleanup"))
    assert node.run(["nft", "list", "tables"]).stdout == ""
