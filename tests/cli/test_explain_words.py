"""How questions may be worded, Services asked for by name, what is refused, and the answers to the letter."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from kubeproxy.cli.main import main
from tests.cli.asking import MANIFESTS, ON_NODE_A, ask, only, told

GOLDENS = Path(__file__).parent / "explain_golden"
SHELL = "$ kube-proxy explain "


@pytest.mark.parametrize("golden", sorted(GOLDENS.glob("*")), ids=lambda golden: golden.name)
def test_answers_to_the_letter(capsys, golden):
    first, _, rest = golden.read_text().partition("\n")
    assert ask(first.removeprefix(SHELL)) == 0
    assert capsys.readouterr().out == rest


SAME = [
    ("10.96.0.20:80", ["10.96.0.20:80/tcp", "10.96.0.20:80/TCP", "010.096.0.20:80"]),
    ("10.96.0.20", ["10.96.0.20/icmp", "10.96.0.20/ping"]),
    ("fd00:10:96::10", ["[fd00:10:96::10]", "fd00:10:96:0::10/icmp"]),
    (
        "--from outside 192.168.7.10:30080",
        ["--from=outside 192.168.7.10:30080", "192.168.7.10:30080 --from outside"],
    ),
    (
        "--from fd00:10:244:1::9 [fd00:10:96::10]:53/udp",
        ["--from [fd00:10:244:1::9] [fd00:10:96::10]:53/udp"],
    ),
]


@pytest.mark.parametrize(("question", "others"), SAME)
def test_a_question_may_be_worded_in_several_ways(capsys, question, others):
    wanted = only(capsys, question)
    assert [only(capsys, other) for other in others] == [wanted] * len(others)


SERVICES = [
    ("shop/web", ["10.96.0.20:80", "192.168.7.10:30080"]),
    ("shop/web:80", ["10.96.0.20:80", "192.168.7.10:30080"]),
    ("shop/web:http", ["10.96.0.20:80", "192.168.7.10:30080"]),
    ("shop/web:30080", ["192.168.7.10:30080"]),
    ("web.shop", ["10.96.0.20:80", "192.168.7.10:30080"]),
    ("web.shop.svc.cluster.local:80", ["10.96.0.20:80", "192.168.7.10:30080"]),
    ("keen", ["10.96.0.24:80"]),
    ("kube-dns:dns", ["10.96.0.10:53", "fd00:10:96::10:53"]),
    ("kube-system/kube-dns:53/udp", ["10.96.0.10:53", "fd00:10:96::10:53"]),
    ("--from 10.244.1.9 kube-dns:dns", ["10.96.0.10:53"]),
    ("edge/near", ["10.96.0.31:80", "198.51.100.31:80", "192.168.7.10:30031"]),
]


@pytest.mark.parametrize(("question", "addresses"), SERVICES)
def test_a_service_stands_for_every_address_it_has(capsys, question, addresses):
    found = told(capsys, question)["answers"]
    assert [f"{one['to']['address']}:{one['to']['port']}" for one in found] == addresses


def test_an_address_of_somebody_older_is_not_its_own(capsys):
    cluster_ip, external_ip = told(capsys, "edge/second")["answers"]
    assert cluster_ip["verdict"] == "refused"
    assert external_ip["verdict"] == "unserved"
    assert external_ip["summary"] == "not its own: Service edge/first is older, and has this address and port"
    assert external_ip["remarks"] == ["it gets the address when Service edge/first lets go of it"]


UNSERVED = [
    (
        "shop/db",
        "headless: its clients look up the endpoints, so there is nothing to program",
        "spec.clusterIP: None",
    ),
    ("shop/mail", "a name for DNS to answer with, so there is nothing to program", "spec.type: ExternalName"),
    (
        "shop/meshed",
        "left to another proxy",
        "metadata.labels[service.kubernetes.io/service-proxy-name]: mesh",
    ),
]


@pytest.mark.parametrize(("question", "problem", "field"), UNSERVED)
def test_a_service_without_anything_to_program_says_why(capsys, question, problem, field):
    found = told(capsys, question)
    assert found["answers"] == []
    assert found["summary"] == f"not served here: Service {question}, {problem}"
    assert found["decided"] == [{"field": field, "because": problem}]


PLAIN = "10.96.0.10:80 --manifests cluster/"
BAD = [
    ("", "where to?", PLAIN),
    ("1.1.1.1:80 2.2.2.2:80", "one destination at a time, not 1.1.1.1:80 2.2.2.2:80", PLAIN),
    ("10.96.0.20:", "'10.96.0.20:' has a colon and no port", "10.96.0.20:80"),
    ("10.96.0.20:0", "0 is not a port; ports are 1 to 65535", "10.96.0.20:80"),
    ("10.96.0.20:65536", "65536 is not a port; ports are 1 to 65535", "10.96.0.20:80"),
    ("10.96.0.20:http", "the port of an address is a number, not 'http'", "10.96.0.20:80"),
    (
        "10.96.0.20:80/xdp",
        "'xdp' is not a protocol; write tcp, udp, sctp or icmp after the slash",
        "10.96.0.20:80/udp",
    ),
    ("10.96.0.20:80/icmp", "a ping has no port", "10.96.0.20/icmp"),
    ("10.96.0.20/udp", "UDP needs a port", "10.96.0.20:80/udp"),
    ("fd00::a/udp", "UDP needs a port", "[fd00::a]:80/udp"),
    ("10.0.0.0/8", "'10.0.0.0/8' is a network; packets go to one address", "10.0.0.0:80"),
    ("http://10.96.0.20", "'http://10.96.0.20' is a URL, and packets go to addresses", "10.96.0.10:80"),
    ("fd00:::1", "'fd00:::1' is no address; write an IPv6 address with a port in brackets", "[fd00::a]:80"),
    (
        "10.96.0.999:80",
        "'10.96.0.999:80' is neither an address nor the name of a Service",
        "shop/web:80, or 10.96.0.10:80",
    ),
    (
        "shop/web/http/80",
        "'80' is not a protocol; write tcp, udp, sctp or icmp after the slash",
        "shop/web/http/udp",
    ),
    (
        "Shop/Web",
        "'Shop/Web' is neither an address nor the name of a Service",
        "shop/web:80, or 10.96.0.10:80",
    ),
    (
        "shop/web:80/icmp",
        "a Service is asked about by its ports; to ping, name an address",
        "10.96.0.10/icmp",
    ),
    ("shop/web:81", "Service shop/web has no such port; it has 80/TCP (http)", "shop/web:80"),
    ("shop/web:80/udp", "Service shop/web has no such port; it has 80/TCP (http)", "shop/web:80"),
    ("web", "'web' is in several namespaces: shop/web, test/web", "shop/web"),
    ("shop/wbe", "there is no Service shop/wbe", "shop/web"),
    ("example.com:443", "there is no Service com/example, and other names are not looked up", "edge/detour"),
    (
        "www.example.com:443",
        "'www.example.com' is not the name of a Service, and names are not looked up here",
        "1.1.1.1:443",
    ),
    (
        "--from nobody 1.1.1.1:80",
        "--from is pod, node, outside, localhost or an address, not 'nobody'",
        "--from outside 192.0.2.10:30080",
    ),
    (
        "--from 10.0.0.1 [fd00::1]:80",
        "nobody at 10.0.0.1 can send to an IPv6 address",
        "--from 2001:db8::7 [fd00::a]:80",
    ),
    ("--from fd00::1 shop/web", "fd00::1 is of another family than the addresses of shop/web", "shop/web"),
    ("-o yaml 10.96.0.20:80", "-o is text or json, not 'yaml'", PLAIN),
    ("--colour 10.96.0.20:80", "unknown flag: --colour; see --help for the flags there are", PLAIN),
    (
        "--proxy-mode=ipvs 10.96.0.20:80",
        "mode 'ipvs' cannot be explained yet, only iptables",
        f"--proxy-mode iptables {PLAIN}",
    ),
]


@pytest.mark.parametrize(("question", "problem", "example"), BAD)
def test_a_question_that_makes_no_sense_is_answered_with_one_that_does(capsys, question, problem, example):
    assert ask(question, "--hostname-override=node-a") == 2 if "mode" in question else ask(question) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert (
        said.err.splitlines()[-1]
        == f"kube-proxy explain: {problem}; for example: kube-proxy explain {example}"
    )


def test_an_option_without_its_value_is_answered_too(capsys):
    assert main(["explain", "10.96.0.20:80", "--from"]) == 2
    assert (
        capsys.readouterr().err
        == f"kube-proxy explain: --from needs a value; for example: kube-proxy explain {PLAIN}\n"
    )


def test_without_manifests_there_is_nothing_to_ask_about(capsys, tmp_path):
    assert ask("10.96.0.20:80", cluster=tmp_path / "none") == 2
    assert "is no directory of manifests; for example: kube-proxy explain" in capsys.readouterr().err
    assert ask("10.96.0.20:80", "--manifests=") == 2
    assert "no cluster to look at; name a directory of manifests" in capsys.readouterr().err


def test_a_configuration_that_cannot_be_used_has_another_exit_code(capsys, tmp_path):
    assert ask("10.96.0.20:80", f"--config={tmp_path / 'none'}") == 1
    assert "name a readable file with --config" in capsys.readouterr().err


def test_help_tells_how_to_ask(capsys):
    assert ask("--help") == 0
    assert capsys.readouterr().out.startswith(
        "kube-proxy explain [--from SENDER] DESTINATION --manifests DIR"
    )


def test_an_empty_cluster_touches_nothing(capsys, tmp_path):
    (answer,) = told(capsys, "10.96.0.20:80", cluster=tmp_path)["answers"]
    assert answer["summary"] == "not answered: no Service has the cluster IP 10.96.0.20"


def test_a_thousand_services_are_asked_about_within_a_second(tmp_path):
    """As a command of its own, start of the interpreter included; processor time, as others use the machine too."""
    (tmp_path / "nodes.yaml").write_text((MANIFESTS / "nodes.yaml").read_text())
    (tmp_path / "all.yaml").write_text("---\n".join(map(thousandth, range(1000))))
    command = [sys.executable, "-c", "import sys; from kubeproxy.cli.main import main; sys.exit(main())"]
    command += ["explain", "big/s7", f"--manifests={tmp_path}", *ON_NODE_A]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.startswith("arrives: Service big/s7:http gives it to one of 10 endpoints\n"), (
        done.stderr
    )
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1


def thousandth(number: int) -> str:
    """A Service of ten endpoints."""
    endpoints = "".join(
        f"- addresses: [10.244.{number % 200}.{host}]\n  conditions: {{ready: true}}\n  nodeName: node-a\n"
        for host in range(10, 20)
    )
    return f"""apiVersion: v1
kind: Service
metadata: {{name: s{number}, namespace: big}}
spec:
  clusterIP: 10.96.{number // 250 + 1}.{number % 250 + 1}
  ports: [{{name: http, port: 80, targetPort: 8080}}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: s{number}-x
  namespace: big
  labels: {{kubernetes.io/service-name: s{number}}}
addressType: IPv4
ports:
- {{name: http, port: 8080, protocol: TCP}}
endpoints:
{endpoints}"""
