"""A configuration file is read strictly where that protects the node, and leniently where it must start anyway."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kubeproxy.config.complaint import ConfigError, Remark, strictness
from kubeproxy.config.decode import decode_config
from kubeproxy.config.duration import Duration, NanosecondCount, parse_duration
from kubeproxy.config.field import fields, value_at
from kubeproxy.config.filevalue import VModuleItem
from kubeproxy.config.row import When
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.config.settle import settled
from tests.config.files import ENVELOPE, complaints_about, read, refused

KUBEADM = (Path(__file__).parent / "kubeadm.yaml").read_text()


def test_a_file_that_says_nothing_is_the_default_configuration():
    assert read("").config == settled(KubeProxyConfig())


def test_the_file_that_kubeadm_writes_is_the_default_configuration_of_its_cluster():
    """It holds a zero of the right type for nearly every field, and none of them may count."""
    reading = decode_config(KUBEADM, "config.conf")
    wanted = settled(KubeProxyConfig(clusterCIDR="10.244.0.0/16"))
    kubeconfig = replace(wanted.clientConnection, kubeconfig="/var/lib/kube-proxy/kubeconfig.conf")
    assert reading.config == replace(wanted, clientConnection=kubeconfig)
    assert type(reading.config.logging.flushFrequency) is Duration
    assert [notice.remark for notice in reading.notices] == [Remark.NO_MODE]


def test_json_is_read_too():
    whole = '{\n\t"kind": "KubeProxyConfiguration", "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",\n\t"mode": "ipvs"}'
    assert decode_config(whole, "x").config.mode == "ipvs"


def test_only_the_first_document_counts():
    assert decode_config(f"---\n{ENVELOPE}mode: ipvs\n---\nmode: [broken\n", "x").config.mode == "ipvs"


def test_a_byte_order_mark_is_no_part_of_the_file():
    assert decode_config("\ufeff" + ENVELOPE + "mode: ipvs", "x").config.mode == "ipvs"


@pytest.mark.parametrize(
    ("whole", "problems"),
    [
        ("", ["Object 'apiVersion' is missing", "Object 'Kind' is missing"]),
        ("mode: ipvs", ["Object 'apiVersion' is missing", "Object 'Kind' is missing"]),
        ("apiVersion: kubeproxy.config.k8s.io/v1alpha1", ["Object 'Kind' is missing"]),
        ("apiVersion: v1\nkind: ConfigMap", ["must be kubeproxy.config.k8s.io/v1alpha1", "must be KubeProxyConfiguration"]),
        ("- a\n- b", ["the file must hold a mapping, not a list"]),
        ("just words", ["the file must hold a mapping, not text"]),
        ("a: b: c", ["the file is neither YAML nor JSON: mapping values are not allowed in this context"]),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_refused(whole, problems):
    complaints = complaints_about(whole)
    assert [complaint.problem for complaint in complaints] == problems
    assert all(complaint.remedy for complaint in complaints)


def test_a_broken_file_is_named_with_its_line():
    with pytest.raises(ConfigError) as caught:
        decode_config("kind: x\na: b: c", "/etc/kube-proxy.yaml")
    assert str(caught.value) == (
        "/etc/kube-proxy.yaml line 2: the file is neither YAML nor JSON: mapping values are not allowed in this "
        "context; look at this line and the one above it: indentation, colons and quotes"
    )


WRONG = [  # text, field, problem
    ("mode: 5", "mode", "must be text, not a number"),
    ("mode: yes", "mode", "must be text, not true or false"),
    ("mode: [iptables]", "mode", "must be text, not a list"),
    ("clusterCIDR: {a: b}", "clusterCIDR", "must be text, not a mapping"),
    ("bindAddressHardFail: 'true'", "bindAddressHardFail", "must be true or false, not text"),
    ("bindAddressHardFail: 1", "bindAddressHardFail", "must be true or false, not a number"),
    ("oomScoreAdj: '5'", "oomScoreAdj", "must be a whole number, not text"),
    ("oomScoreAdj: 1.5", "oomScoreAdj", "must be a whole number"),
    ("oomScoreAdj: 2147483648", "oomScoreAdj", "must be within the range [-2147483648, 2147483647]"),
    ("oomScoreAdj: .nan", "oomScoreAdj", "must be a whole number"),
    ("oomScoreAdj: yes", "oomScoreAdj", "must be a whole number, not true or false"),
    ("clientConnection: {qps: fast}", "clientConnection.qps", "must be a number, not text"),
    ("clientConnection: {qps: .inf}", "clientConnection.qps", "must be a finite number"),
    ("clientConnection: {qps: 1e39}", "clientConnection.qps", "is too large"),
    ("logging: {verbosity: -1}", "logging.verbosity", "must be within the range [0, 4294967295]"),
    ("iptables: {syncPeriod: 30}", "iptables.syncPeriod", "must be a duration with a unit, not a number"),
    ("iptables: {syncPeriod: '30'}", "iptables.syncPeriod", 'time: missing unit in duration "30"'),
    ("iptables: {syncPeriod: 1d}", "iptables.syncPeriod", 'time: unknown unit "d" in duration "1d"'),
    ("iptables: {syncPeriod: ''}", "iptables.syncPeriod", 'time: invalid duration ""'),
    ("iptables: {syncPeriod: null}", "iptables.syncPeriod", 'time: invalid duration ""'),
    ("conntrack: {udpTimeout: null}", "conntrack.udpTimeout", 'time: invalid duration ""'),
    ("configSyncPeriod:", "configSyncPeriod", 'time: invalid duration ""'),
    ("logging: {flushFrequency: soon}", "logging.flushFrequency", 'time: invalid duration "soon"'),
    ("logging: {flushFrequency: 1.5}", "logging.flushFrequency", "must be a whole number"),
    ("logging: {options: {text: {infoBufferSize: big}}}", "logging.options.text.infoBufferSize",
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ("logging: {options: {json: {infoBufferSize: [1]}}}", "logging.options.json.infoBufferSize",
     "must be a quantity, not a list"),
    ("logging: {vmodule: 'a=1'}", "logging.vmodule", "must be a list, not text"),
    ("logging: {vmodule: [a]}", "logging.vmodule", "entry 0 must be a mapping of filePattern and verbosity, not text"),
    ("logging: {vmodule: [{filePattern: 5}]}", "logging.vmodule", "entry 0: must be text, not a number"),
    ("nodePortAddresses: 10.0.0.0/8", "nodePortAddresses", "must be a list, not text"),
    ("nodePortAddresses: [a, 5]", "nodePortAddresses", "entry 1 must be text, not a number"),
    ("featureGates: [A]", "featureGates", "must be a mapping of names to true or false, not a list"),
    ("featureGates: {A: 'true'}", "featureGates", "A must be true or false, not text"),
    ("iptables: 5", "iptables", "must be a mapping, not a number"),
    ("logging: {options: [text]}", "logging.options", "must be a mapping, not a list"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "field", "problem"), WRONG)
def test_a_value_of_the_wrong_type_is_named(text, field, problem):
    (complaint,) = refused(text)
    assert (complaint.field, complaint.problem) == (field, problem)
    assert complaint.remedy
    assert complaint.where == "kube-proxy.yaml line 3"


def test_all_that_is_wrong_is_said_at_once():
    complaints = refused("mode: 5\noomScoreAdj: low\niptables:\n  syncPeriod: 30\n")
    assert [str(complaint) for complaint in complaints] == [
        (
            "kube-proxy.yaml line 3: mode: must be text, not a number (found 5); put the value in quotes: bare numbers, "
            "and yes, no, on, off, true and false are not text in YAML"
        ),
        (
            "kube-proxy.yaml line 6: iptables.syncPeriod: must be a duration with a unit, not a number (found 30); "
            "write a number with a unit, such as 30s, 1m30s or 500ms; for nothing write 0s"
        ),
        (
            'kube-proxy.yaml line 4: oomScoreAdj: must be a whole number, not text (found "low"); '
            "write a whole number of at most 32 bits, without quotes"
        ),
    ]


@pytest.mark.parametrize(
    "text", ["iptables: {localhostNodePorts: off}", "iptables:\n  localhostNodePorts: No"]
)
def test_words_of_yaml_1_1_are_true_or_false(text):
    assert read(text).config.iptables.localhostNodePorts is False


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("oomScoreAdj: -998.0", "oomScoreAdj", -998),
        ("oomScoreAdj: 0", "oomScoreAdj", 0),
        ("conntrack: {maxPerCore: 0}", "conntrack.maxPerCore", 0),
        ("conntrack: {tcpEstablishedTimeout: 0s}", "conntrack.tcpEstablishedTimeout", Duration(0)),
        ("conntrack: {tcpEstablishedTimeout: null}", "conntrack.tcpEstablishedTimeout", parse_duration("24h")),
        ("iptables: {masqueradeBit: 0}", "iptables.masqueradeBit", 0),
        ("iptables: {minSyncPeriod: 0s}", "iptables.minSyncPeriod", parse_duration("1s")),
        ("mode: ipvs\nipvs: {minSyncPeriod: 0s}", "ipvs.minSyncPeriod", Duration(0)),
        ("mode: ipvs\nipvs: {syncPeriod: 0s}", "ipvs.syncPeriod", parse_duration("30s")),
        ("clientConnection: {qps: 0, burst: 0}", "clientConnection.qps", 5.0),
        ("clientConnection: {qps: -1}", "clientConnection.qps", -1.0),
        ("clientConnection: {qps: 0.1}", "clientConnection.qps", pytest.approx(0.1)),
        ("clientConnection:", "clientConnection.burst", 10),
        ("logging: {flushFrequency: 3000000000}", "logging.flushFrequency", parse_duration("3s")),
        ("logging: {flushFrequency: null}", "logging.flushFrequency", parse_duration("5s")),
        ("logging: {format: null}", "logging.format", "text"),
        ("logging: {vmodule: [{filePattern: a, verbosity: 2}, {filePattern: b}]}", "logging.vmodule",
         (VModuleItem("a", 2), VModuleItem("b", 0))),
        ("logging: {options: {text: {infoBufferSize: 65536Ki, splitStream: yes}}}",
         "logging.options.text.infoBufferSize", "64Mi"),
        ("logging: {options: {json: {infoBufferSize: 1024}}}", "logging.options.json.infoBufferSize", "1024"),
        ("nodePortAddresses: [010.0.0.0/8, null]", "nodePortAddresses", ("010.0.0.0/8", "")),
        ("featureGates: {A: true, B: null}", "featureGates", {"A": True, "B": False}),
        ("hostnameOverride: Node-A ", "hostnameOverride", "Node-A"),
        ("hostnameOverride: ' Node-A '", "hostnameOverride", " Node-A "),
        ("detectLocalMode: ''", "detectLocalMode", "ClusterCIDR"),
        ("mode: null", "mode", "iptables"),
    ],
)  # fmt: skip
def test_a_value_is_read(text, path, value):
    assert value_at(read(text).config, path) == value


def test_a_number_of_nanoseconds_stays_one():
    """It is written back as it was read, so that comparing files shows no difference that nobody made."""
    assert type(read("logging: {flushFrequency: 1000}").config.logging.flushFrequency) is NanosecondCount


SERVERS = [  # bindAddress, healthz, metrics → healthz, metrics
    ("", "", "", "0.0.0.0:10256", "127.0.0.1:10249"),
    ("10.0.0.1", "", "", "0.0.0.0:10256", "127.0.0.1:10249"),
    ("'::'", "", "", "[::]:10256", "[::1]:10249"),
    ("fd00::1", "", "", "[::]:10256", "[::1]:10249"),
    ("nonsense", "", "", "0.0.0.0:10256", "127.0.0.1:10249"),
    ("", "10.0.0.1", "'::1'", "10.0.0.1:10256", "[::1]:10249"),
    ("'::'", "10.0.0.1:80", "'[::1]:81'", "10.0.0.1:80", "[::1]:81"),
    ("", "somewhere", ":9000", "somewhere", ":9000"),
]


@pytest.mark.parametrize(("bind", "healthz", "metrics", "healthz_at", "metrics_at"), SERVERS)
def test_the_servers_listen_where_bind_address_suggests(bind, healthz, metrics, healthz_at, metrics_at):
    text = f"bindAddress: {bind}\nhealthzBindAddress: {healthz}\nmetricsBindAddress: {metrics}\n"
    config = read(text).config
    assert (config.healthzBindAddress, config.metricsBindAddress) == (healthz_at, metrics_at)


def test_unknown_names_are_dropped_and_named():
    reading = read("mode: ipvs\nfoo: 1\nconntrack:\n  bar: [x]\n  min: 7\nMode: nftables\n")
    assert (reading.config.mode, reading.config.conntrack.min) == ("ipvs", 7)
    assert [str(notice) for notice in reading.notices] == [
        'kube-proxy.yaml line 8: unknown field "Mode"; did you mean mode?',
        'kube-proxy.yaml line 6: unknown field "conntrack.bar"; remove it, or check its spelling and its indentation',
        'kube-proxy.yaml line 4: unknown field "foo"; remove it, or check its spelling and its indentation',
    ]
    assert strictness(reading.notices) == (
        'strict decoding error: unknown field "Mode", unknown field "conntrack.bar", unknown field "foo"'
    )


def test_unknown_names_inside_a_list_are_named_too():
    reading = read("mode: ipvs\nlogging: {vmodule: [{filePattern: a, level: 3}]}")
    assert strictness(reading.notices) == 'strict decoding error: unknown field "logging.vmodule[0].level"'


def test_of_names_given_twice_the_last_counts():
    reading = read("mode: ipvs\nconntrack: {min: 1, min: 2}\nmode: nftables\n")
    assert (reading.config.mode, reading.config.conntrack.min) == ("nftables", 2)
    assert strictness(reading.notices) == (
        'strict decoding error: duplicate field "conntrack.min", duplicate field "mode"'
    )


@pytest.mark.parametrize("name", ["resourceContainer", "udpTimeoutMilliseconds", "ipTables"])
def test_names_of_other_releases_do_not_keep_a_node_from_starting(name):
    assert [notice.field for notice in read(f"mode: ipvs\n{name}: x").notices] == [name]


def test_a_correct_file_gives_no_notice():
    assert read("mode: ipvs").notices == ()
    assert strictness(()) == ""


def test_the_mode_should_be_said():
    (notice,) = read("mode: ''").notices
    assert str(notice) == (
        "kube-proxy.yaml: mode is not set; iptables is used; say so in the file, because the default may change one day"
    )


def test_fields_of_relays_count_in_mode_userspace_only():
    used = read("mode: userspace\nportRange: 20000-20999\nudpIdleTimeout: 1s")
    assert (used.config.portRange, str(used.config.udpIdleTimeout), used.notices) == ("20000-20999", "1s", ())
    unused = read("mode: ipvs\nportRange: 20000-20999\nudpIdleTimeout: 1s")
    assert unused.config.portRange == ""
    assert [str(notice) for notice in unused.notices] == [
        "kube-proxy.yaml: portRange has no effect here; only mode userspace looks at it",
        "kube-proxy.yaml: udpIdleTimeout has no effect here; only mode userspace looks at it",
    ]


def test_zero_of_every_field_is_as_good_as_its_absence_where_the_table_says_so():
    """Files are often written by programs that fill in zeros for what nobody set."""
    empty = settled(KubeProxyConfig())
    for field in fields():
        zero = json.dumps(field.kind.write(field.kind.zero))
        names = field.path.split(".")
        text = "".join("  " * depth + name + ":\n" for depth, name in enumerate(names))
        config = read(text.rstrip("\n") + f" {zero}\n").config
        if field.when is When.NOT_NULL:
            assert value_at(config, field.path) == field.kind.zero, field.path
        else:
            assert config == empty, field.path


GOLDEN_FILE = (
    ENVELOPE
    + """\
hostnameOverride: node-a
clusterCIDR: 10.77.0.0/16,fd00:10:77::/48
conntrack: {maxPerCore: 0, tcpCloseWaitTimeout: 0s}
ipvs: {scheduler: wrr, excludeCIDRs: [198.18.0.0/24], tcpTimeout: 900s}
mode: ipvs
"""
)


@given(st.data())
def test_no_damage_to_a_file_escapes_as_anything_but_a_complaint(data):
    text = GOLDEN_FILE
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 5))
        text = text[:at] + data.draw(st.text(max_size=3) | st.sampled_from([": ", "\n", "- ", "&a ", "*a", "!!int "])) + text[at + cut :]  # fmt: skip
    try:
        decode_config(text, "x")
    except ConfigError as error:
        assert error.complaints
        assert all(complaint.problem and complaint.remedy for complaint in error.complaints)
