"""The written file is the stock proxy's, byte for byte, and reads back as what was written."""

from textwrap import dedent

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.config.complaint import Remark
from kubeproxy.config.decode import decode_config
from kubeproxy.config.duration import Duration
from kubeproxy.config.effective import effective_config
from kubeproxy.config.field import Field, fields, with_values
from kubeproxy.config.filevalue import VModuleItem
from kubeproxy.config.invocation import parse_flags
from kubeproxy.config.row import When
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.config.settle import settled
from kubeproxy.config.write import plain_config, write_config
from tests.config.files import read

DEFAULTS = """\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 10
  contentType: application/vnd.kubernetes.protobuf
  kubeconfig: ""
  qps: 5
clusterCIDR: ""
configSyncPeriod: 15m0s
conntrack:
  maxPerCore: 32768
  min: 131072
  tcpBeLiberal: false
  tcpCloseWaitTimeout: 1h0m0s
  tcpEstablishedTimeout: 24h0m0s
  udpStreamTimeout: 0s
  udpTimeout: 0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: ClusterCIDR
enableProfiling: false
healthzBindAddress: 0.0.0.0:10256
hostnameOverride: ""
iptables:
  localhostNodePorts: true
  masqueradeAll: false
  masqueradeBit: 14
  minSyncPeriod: 1s
  syncPeriod: 30s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  strictARP: false
  syncPeriod: 0s
  tcpFinTimeout: 0s
  tcpTimeout: 0s
  udpTimeout: 0s
kind: KubeProxyConfiguration
logging:
  flushFrequency: 5s
  format: text
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
metricsBindAddress: 127.0.0.1:10249
mode: iptables
nftables:
  masqueradeAll: false
  masqueradeBit: 14
  minSyncPeriod: 0s
  syncPeriod: 0s
nodePortAddresses: null
oomScoreAdj: -999
portRange: ""
showHiddenMetricsForVersion: ""
winkernel:
  enableDSR: false
  forwardHealthCheckVip: false
  networkName: ""
  rootHnsEndpointName: ""
  sourceVip: ""
"""
IPTABLES_PERIODS = "  masqueradeBit: 14\n  minSyncPeriod: 1s\n  syncPeriod: 30s\nipvs:"
NO_IPTABLES_PERIODS = "  masqueradeBit: 14\n  minSyncPeriod: 0s\n  syncPeriod: 0s\nipvs:"


def changed(*changes: tuple[str, str]) -> str:
    """The default file with some lines replaced, each of them once."""
    text = DEFAULTS
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_the_default_file():
    assert write_config(read("").config) == DEFAULTS
    assert write_config(effective_config(parse_flags([]), None)) == DEFAULTS


def test_the_default_file_of_mode_nftables():
    wanted = changed(
        ("mode: iptables", "mode: nftables"),
        (IPTABLES_PERIODS, NO_IPTABLES_PERIODS),
        ("  minSyncPeriod: 0s\n  syncPeriod: 0s\nnode", "  minSyncPeriod: 1s\n  syncPeriod: 30s\nnode"),
        ("nodePortAddresses: null", "nodePortAddresses:\n- primary"),
    )
    assert write_config(read("mode: nftables").config) == wanted
    assert write_config(effective_config(parse_flags(["--proxy-mode=nftables"]), None)) == wanted


def test_the_default_file_of_mode_ipvs():
    wanted = changed(
        ("mode: iptables", "mode: ipvs"),
        (IPTABLES_PERIODS, NO_IPTABLES_PERIODS),
        ("  syncPeriod: 0s\n  tcpFin", "  syncPeriod: 30s\n  tcpFin"),
    )
    assert write_config(read("mode: ipvs").config) == wanted


def test_the_default_file_of_mode_userspace():
    wanted = changed(
        ("mode: iptables", "mode: userspace"),
        ('showHiddenMetricsForVersion: ""\n', 'showHiddenMetricsForVersion: ""\nudpIdleTimeout: 250ms\n'),
    )
    assert write_config(read("mode: userspace").config) == wanted


def test_what_is_rarely_set_appears_when_it_is():
    config = read(
        dedent(
            """
        mode: nftables
        bindAddress: '::'
        featureGates: {B: true, A: false}
        nodePortAddresses: ['192.0.2.0/24', '2001:db8::/64']
        windowsRunAsService: true
        logging:
          flushFrequency: 1500000000
          vmodule: [{filePattern: b*, verbosity: 2}, {filePattern: a}]
          options: {text: {splitStream: true, infoBufferSize: 1024Ki}}
        clientConnection: {qps: 0.5}
        hostnameOverride: "yes"
            """
        )
    ).config
    assert write_config(config) == changed(
        ("bindAddress: 0.0.0.0\n", "bindAddress: '::'\n"),
        ("healthzBindAddress: 0.0.0.0:10256", "featureGates:\n  A: false\n  B: true\nhealthzBindAddress: '[::]:10256'"),
        ("metricsBindAddress: 127.0.0.1:10249", "metricsBindAddress: '[::1]:10249'"),
        ("mode: iptables", "mode: nftables"),
        (IPTABLES_PERIODS, NO_IPTABLES_PERIODS),
        ("  minSyncPeriod: 0s\n  syncPeriod: 0s\nnode", "  minSyncPeriod: 1s\n  syncPeriod: 30s\nnode"),
        ("nodePortAddresses: null", "nodePortAddresses:\n- 192.0.2.0/24\n- 2001:db8::/64"),
        ("winkernel:", "windowsRunAsService: true\nwinkernel:"),
        ("  flushFrequency: 5s", "  flushFrequency: 1500000000"),
        ('    text:\n      infoBufferSize: "0"\n  verbosity: 0',
         ("    text:\n      infoBufferSize: 1Mi\n      splitStream: true\n  verbosity: 0\n  vmodule:\n"
         "  - filePattern: b*\n    verbosity: 2\n  - filePattern: a\n    verbosity: 0")),
        ("  qps: 5", "  qps: 0.5"),
        ('hostnameOverride: ""', 'hostnameOverride: "yes"'),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("", '""'), ("a", "a"), ("a b", "a b"), ("yes", '"yes"'), ("~", '"~"'), ("0", '"0"'), ("1.5", '"1.5"'),
        ("1:30", '"1:30"'), ("10.0.0.1:80", "10.0.0.1:80"), ("::1", "::1"), ("::", "'::'"), ("[::1]:80", "'[::1]:80'"),
        ("fd00::/8,10.0.0.0/8", "fd00::/8,10.0.0.0/8"), ("- a", "'- a'"), ("-a", "-a"), ("a: b", "'a: b'"),
        ("a #b", "'a #b'"), ("a#b", "a#b"), ("it's", "it's"), ("'a'", "'''a'''"), (" a", "' a'"), ("a ", "'a '"),
        ("*a", "'*a'"), ("%a", "'%a'"), ("a\nb", '"a\\nb"'), ("a\x00b", '"a\\x00b"'), ("é", "é"), ("---", "'---'"),
        ("\U0001f600 \ue000", '"\U0001f600 \\ue000"'), ('say "x"', 'say "x"'), ("?", "'?'"),
        ("x" * 300, "x" * 300),
    ],
)  # fmt: skip
def test_text_is_quoted_where_yaml_would_misread_it(text, written):
    config = KubeProxyConfig(hostnameOverride=text)
    (line,) = [line for line in write_config(config).splitlines() if line.startswith("hostnameOverride: ")]
    assert line == f"hostnameOverride: {written}"
    assert yaml.safe_load(line) == {"hostnameOverride": text}


def test_plain_values_are_in_the_order_of_the_api():
    """As /configz shows them."""
    plain = plain_config(read("mode: nftables").config)
    assert list(plain)[:6] == [
        "kind",
        "apiVersion",
        "clientConnection",
        "logging",
        "hostnameOverride",
        "bindAddress",
    ]
    assert list(plain["iptables"]) == [
        "masqueradeBit",
        "masqueradeAll",
        "localhostNodePorts",
        "syncPeriod",
        "minSyncPeriod",
    ]
    assert plain["nftables"]["syncPeriod"] == "30s"
    assert plain["clientConnection"]["qps"] == 5
    assert plain["nodePortAddresses"] == ["primary"]


texts = st.text(max_size=12) | st.sampled_from(["yes", "0x1", "::", "a: b", "- x", "null", "1:30", "''", '"'])
VALUES = {
    "string": texts,
    "file": texts,
    "ip": st.sampled_from(["10.0.0.1", "::", "fd00::1", "nonsense"]),
    "ip[:port]": st.sampled_from(["10.0.0.1:80", "[::]:80", "nonsense"]),
    "bool": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "level": st.integers(0, 2**32 - 1),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "duration": st.integers(-(2**63), 2**63 - 1).map(Duration),
    "list": st.lists(texts, max_size=3).map(tuple),
    "name=bool,…": st.dictionaries(texts, st.booleans(), max_size=3),
    "pattern=N,…": st.lists(st.builds(VModuleItem, texts, st.integers(0, 9)), max_size=3).map(tuple),
    "quantity": st.sampled_from(["0", "64Ki", "1500m", "-2k", "1e3"]),
}


def storable(field: Field, value: object) -> bool:
    """A file cannot say zero where zero means the default."""
    return field.when is not When.NOT_EMPTY or bool(value)


@given(st.data(), st.sampled_from(["iptables", "nftables", "ipvs", "userspace"]))
def test_what_is_written_reads_back_the_same(data, mode):
    values = {"mode": mode}
    for field in data.draw(
        st.lists(st.sampled_from(fields()), max_size=8, unique_by=lambda field: field.path)
    ):
        if field.path != "mode":
            values[field.path] = data.draw(
                VALUES[field.kind.word].filter(lambda value, field=field: storable(field, value))
            )
    config = settled(with_values(KubeProxyConfig(), values))
    text = write_config(config)
    reading = decode_config(text, "written")
    assert reading.config == config
    assert {notice.remark for notice in reading.notices} <= {Remark.NO_EFFECT}
    assert write_config(reading.config) == text
