"""The command line is read as Go's pflag reads it: units and scripts written for the stock proxy go on working."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.config.commandline import FlagError, parse
from kubeproxy.config.effective import effective_config
from kubeproxy.config.filevalue import VModuleItem
from kubeproxy.config.flags import OWN, flags
from kubeproxy.config.invocation import flag_texts, parse_flags


def given_by(*arguments: str) -> dict[str, object]:
    return dict(parse_flags(arguments).given)


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["--proxy-mode", "ipvs"], {"proxy-mode": "ipvs"}),
        (["--proxy-mode=ipvs"], {"proxy-mode": "ipvs"}),
        (["--proxy_mode=ipvs"], {"proxy-mode": "ipvs"}),
        (["--proxy-mode="], {"proxy-mode": ""}),
        (["--proxy-mode", "--cleanup"], {"proxy-mode": "--cleanup"}),
        (["--cluster-cidr=a=b"], {"cluster-cidr": "a=b"}),
        (["--cleanup"], {"cleanup": True}),
        (["--cleanup=F"], {"cleanup": False}),
        (["--cleanup=T", "--cleanup=0"], {"cleanup": False}),
        (["-v", "4"], {"v": 4}),
        (["-v=4"], {"v": 4}),
        (["-v4"], {"v": 4}),
        (["--v=4"], {"v": 4}),
        (["-h"], {"help": True}),
        (["-hv2"], {"help": True, "v": 2}),
        (["--help=false"], {"help": False}),
        (["--version"], {"version": "true"}),
        (["--version=raw"], {"version": "raw"}),
        (["--version=false"], {"version": ""}),
        (["--version=v1.36.4-eks-1"], {"version": "v1.36.4-eks-1"}),
        (["--oom-score-adj=-0x10"], {"oom-score-adj": -16}),
        (["--kube-api-qps=.5"], {"kube-api-qps": 0.5}),
        (["--ipvs-udp-timeout=0"], {"ipvs-udp-timeout": 0}),
        (["--nodeport-addresses=a,b", "--nodeport-addresses=c"], {"nodeport-addresses": ("a", "b", "c")}),
        (["--nodeport-addresses="], {"nodeport-addresses": ()}),
        (["--feature-gates=A=true,B=false", "--feature-gates= A = false "], {"feature-gates": {"A": False, "B": False}}),
        (["--feature-gates="], {"feature-gates": {}}),
        (["--vmodule=a=1,,b*=2", "--vmodule=c=3"],
         {"vmodule": (VModuleItem("a", 1), VModuleItem("b*", 2), VModuleItem("c", 3))}),
        (["--bind-address="], {}),
        (["--bind-address=::1", "--bind-address="], {"bind-address": "::1"}),
        (["--healthz-bind-address=[::]:0"], {"healthz-bind-address": "[::]:0"}),
        (["--healthz-bind-address=::"], {"healthz-bind-address": "::"}),
        (["--log-text-info-buffer-size=1024Ki"], {"log-text-info-buffer-size": "1Mi"}),
        (["--service-cidr=10.96.0.0/12,fd00::/112"], {"service-cidr": ("10.96.0.0/12", "fd00::/112")}),
        (["--config-reload=live"], {"config-reload": "live"}),
        (["--"], {}),
        (["", ""], {}),
    ],
)  # fmt: skip
def test_a_flag_is_understood(arguments, given):
    assert given_by(*arguments) == given


REFUSED = [  # arguments, stock message, remedy
    (["--x"], "unknown flag: --x", "see --help for the flags there are"),
    (["--proxymode=ipvs"], "unknown flag: --proxymode", "did you mean --proxy-mode?"),
    (["--Proxy-Mode=x"], "unknown flag: --Proxy-Mode", "did you mean --proxy-mode?"),
    (["-x"], "unknown shorthand flag: 'x' in -x", "other flags than -v and -h have long names, with two dashes"),
    (["-config", "f"], "unknown shorthand flag: 'c' in -config",
     "other flags than -v and -h have long names, with two dashes"),
    (["--=x"], "bad flag syntax: --=x", "write --name or --name=value"),
    (["---config"], "bad flag syntax: ---config", "write --name or --name=value"),
    (["--config"], "flag needs an argument: --config", None),
    (["-v"], "flag needs an argument: 'v' in -v", "write --v=level, or leave the flag out"),
    (["-v=x"], 'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax', None),
    (["--v=-1"], 'invalid argument "-1" for "-v, --v" flag: strconv.ParseUint: parsing "-1": invalid syntax', None),
    (["--cleanup=yes"], 'invalid argument "yes" for "--cleanup" flag: strconv.ParseBool: parsing "yes": invalid syntax',
     "write true or false, without quotes"),
    (["--cleanup="], 'invalid argument "" for "--cleanup" flag: strconv.ParseBool: parsing "": invalid syntax', None),
    (["--oom-score-adj=1.0"],
     'invalid argument "1.0" for "--oom-score-adj" flag: strconv.ParseInt: parsing "1.0": invalid syntax', None),
    (["--conntrack-min=3000000000"],
     ('invalid argument "3000000000" for "--conntrack-min" flag: strconv.ParseInt: parsing "3000000000": '
     "value out of range"), None),
    (["--kube-api-qps=x"],
     'invalid argument "x" for "--kube-api-qps" flag: strconv.ParseFloat: parsing "x": invalid syntax', None),
    (["--ipvs-sync-period=30"],
     'invalid argument "30" for "--ipvs-sync-period" flag: time: missing unit in duration "30"',
     "write a number with a unit, such as 30s, 1m30s or 500ms; for nothing write 0s"),
    (["--ipvs-sync-period=1d"],
     'invalid argument "1d" for "--ipvs-sync-period" flag: time: unknown unit "d" in duration "1d"', None),
    (["--bind-address=localhost"],
     'invalid argument "localhost" for "--bind-address" flag: "localhost" is not a valid IP address', None),
    (["--bind-address=10.0.0.1:80"],
     'invalid argument "10.0.0.1:80" for "--bind-address" flag: "10.0.0.1:80" is not a valid IP address', None),
    (["--healthz-bind-address=here:80"],
     'invalid argument "here:80" for "--healthz-bind-address" flag: "here" is not a valid IP address', None),
    (["--healthz-bind-address=:80"],
     'invalid argument ":80" for "--healthz-bind-address" flag: "" is not a valid IP address', None),
    (["--metrics-bind-address=10.0.0.1:x"],
     'invalid argument "10.0.0.1:x" for "--metrics-bind-address" flag: "x" is not a valid number', None),
    (["--metrics-bind-address=10.0.0.1:70000"],
     'invalid argument "10.0.0.1:70000" for "--metrics-bind-address" flag: "70000" is not a valid number', None),
    (["--metrics-bind-address=nothing"],
     ('invalid argument "nothing" for "--metrics-bind-address" flag: "nothing" is not an IP address, '
     "nor an IP address with a port"), None),
    (["--feature-gates=A"],
     'invalid argument "A" for "--feature-gates" flag: malformed pair, expect string=bool', None),
    (["--feature-gates=A=maybe"],
     ('invalid argument "A=maybe" for "--feature-gates" flag: invalid value of A: maybe, err: '
     'strconv.ParseBool: parsing "maybe": invalid syntax'), None),
    (["--vmodule=a"], 'invalid argument "a" for "--vmodule" flag: "a" does not have the pattern=N format', None),
    (["--vmodule=a=b=1"], 'invalid argument "a=b=1" for "--vmodule" flag: "a=b=1" does not have the pattern=N format',
     None),
    (["--vmodule=a=x"], ('invalid argument "a=x" for "--vmodule" flag: parsing verbosity in "a=x": '
     'strconv.ParseUint: parsing "x": invalid syntax'), None),
    (["--nodeport-addresses=a\"b"],
     ('invalid argument "a\\"b" for "--nodeport-addresses" flag: parse error on line 1, column 2: '
     'bare " in non-quoted field'), None),
    (["--version=v1.36.9"],
     ('invalid argument "v1.36.9" for "--version" flag: version "v1.36.9" must match major/minor/patch of default '
     'version "v1.36.4"'), "write --version alone, --version=raw or --version=v1.36.4"),
    (["--version=2"], 'invalid argument "2" for "--version" flag: strconv.ParseBool: parsing "2": invalid syntax', None),
    (["--service-cidr=10.0.0.1"],
     'invalid argument "10.0.0.1" for "--service-cidr" flag: "10.0.0.1" is not a network', None),
    (["--config-reload=often"],
     'invalid argument "often" for "--config-reload" flag: must be one of pending, live, exit', None),
    (["--healthz-port=x", "--config=f"],
     'invalid argument "x" for "--healthz-port" flag: strconv.ParseInt: parsing "x": invalid syntax', None),
    (["--log-json-info-buffer-size=lots"],
     ('invalid argument "lots" for "--log-json-info-buffer-size" flag: quantities must match the regular expression '
     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"), None),
    (["x"], '"kube-proxy" does not take any arguments, got ["x"]', "flags begin with two dashes; see --help"),
    (["help"], '"kube-proxy" does not take any arguments, got ["help"]', None),
    (["", "x", "-"], '"kube-proxy" does not take any arguments, got ["" "x" "-"]', None),
    (["--cleanup", "false"], '"kube-proxy" does not take any arguments, got ["false"]',
     "a flag that is true or false takes its value after an equals sign: --cleanup=false"),
    (["--", "--cleanup"], '"kube-proxy" does not take any arguments, got ["--cleanup"]', None),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message", "remedy"), REFUSED)
def test_a_command_line_that_makes_no_sense_is_named(arguments, message, remedy):
    with pytest.raises(FlagError) as caught:
        parse_flags(arguments)
    assert caught.value.message == message
    (complaint,) = caught.value.complaints
    assert complaint.remedy
    assert remedy is None or complaint.remedy == remedy
    assert str(caught.value) == f"{message}; {complaint.remedy}"


def test_help_comes_before_other_words_but_after_errors():
    assert parse_flags(["--help", "me"]).help
    with pytest.raises(FlagError):
        parse_flags(["--help", "--nonsense"])


def test_deprecated_flags_work_and_say_so():
    invocation = parse_flags(["--healthz-port=0", "--metrics-port=1", "--healthz-port=5"])
    assert invocation.given == {"healthz-port": 5, "metrics-port": 1}
    assert invocation.warnings == (
        "Flag --healthz-port has been deprecated, use --healthz-bind-address",
        "Flag --metrics-port has been deprecated, use --metrics-bind-address",
        "Flag --healthz-port has been deprecated, use --healthz-bind-address",
    )


def test_what_nobody_said_is_the_default():
    invocation = parse_flags([])
    assert (invocation.help, invocation.version, invocation.cleanup, invocation.init_only) == (
        False,
        "",
        False,
        False,
    )
    assert (invocation.config, invocation.write_config_to, invocation.master) == ("", "", "")
    assert (invocation.manifests, invocation.record, invocation.play) == ("", "", "")
    assert (invocation.service_cidrs, invocation.config_reload, invocation.verbosity) == ((), "pending", 0)


def test_what_was_said_has_a_name():
    invocation = parse_flags(
        [
            *("--manifests=d", "--record=r", "--play=p", "--service-cidr=10.0.0.0/8", "--master=m"),
            *("--config=c", "--init-only", "--cleanup", "-v=3", "--version=raw", "--config-reload=exit"),
            "--write-config-to=w",
        ]
    )
    assert (invocation.manifests, invocation.record, invocation.play) == ("d", "r", "p")
    assert (invocation.config, invocation.write_config_to, invocation.master) == ("c", "w", "m")
    assert (invocation.service_cidrs, invocation.config_reload) == (("10.0.0.0/8",), "exit")
    assert (invocation.verbosity, invocation.version) == (3, "raw")
    assert (invocation.init_only, invocation.cleanup) == (True, True)


_STOCK = """
config write-config-to cleanup init-only version help hostname-override master kubeconfig kube-api-content-type
kube-api-qps kube-api-burst feature-gates bind-address bind-address-hard-fail healthz-bind-address healthz-port
metrics-bind-address metrics-port profiling show-hidden-metrics-for-version proxy-mode iptables-masquerade-bit
masquerade-all iptables-localhost-nodeports iptables-sync-period iptables-min-sync-period ipvs-sync-period
ipvs-min-sync-period ipvs-scheduler ipvs-exclude-cidrs ipvs-strict-arp ipvs-tcp-timeout ipvs-tcpfin-timeout
ipvs-udp-timeout detect-local-mode pod-bridge-interface pod-interface-name-prefix cluster-cidr nodeport-addresses
oom-score-adj conntrack-max-per-core conntrack-min conntrack-tcp-timeout-established
conntrack-tcp-timeout-close-wait conntrack-tcp-be-liberal conntrack-udp-timeout conntrack-udp-timeout-stream
config-sync-period v vmodule logging-format log-flush-frequency log-text-split-stream log-json-split-stream
log-text-info-buffer-size log-json-info-buffer-size boot-id-file machine-id-file
"""
OURS = {"manifests", "record", "play", "service-cidr", "config-reload", "udp-timeout", "proxy-port-range"}


def test_every_flag_of_the_stock_proxy_is_there():
    assert set(flags()) == set(_STOCK.split()) | OURS


DEFAULTS = {
    "kube-api-content-type": "application/vnd.kubernetes.protobuf",
    "kube-api-qps": "5",
    "kube-api-burst": "10",
    "bind-address": "0.0.0.0",
    "healthz-bind-address": "0.0.0.0:10256",
    "healthz-port": "10256",
    "metrics-bind-address": "127.0.0.1:10249",
    "metrics-port": "10249",
    "iptables-masquerade-bit": "14",
    "iptables-localhost-nodeports": "true",
    "iptables-sync-period": "30s",
    "iptables-min-sync-period": "1s",
    "ipvs-sync-period": "30s",
    "ipvs-min-sync-period": "1s",
    "oom-score-adj": "-999",
    "conntrack-max-per-core": "32768",
    "conntrack-min": "131072",
    "conntrack-tcp-timeout-established": "24h0m0s",
    "conntrack-tcp-timeout-close-wait": "1h0m0s",
    "config-sync-period": "15m0s",
    "udp-timeout": "250ms",
    "logging-format": "text",
    "log-flush-frequency": "5s",
    "log-text-info-buffer-size": "0",
    "log-json-info-buffer-size": "0",
    "v": "0",
    "boot-id-file": "/proc/sys/kernel/random/boot_id",
    "machine-id-file": "/etc/machine-id,/var/lib/dbus/machine-id",
    "config-reload": "pending",
}
ZEROS = {"bool": "false", "list": "[]", "duration": "0s", "true|raw|vX.Y.Z": "false"}


def shown_flags(*arguments):
    """Every flag as /flagz shows it."""
    invocation = parse_flags(arguments)
    return dict(flag_texts(invocation, effective_config(invocation, None)))


def test_every_default_is_that_of_the_stock_proxy():
    shown = shown_flags("--config=file") | {"config": ""}
    assert shown == {
        name: DEFAULTS.get(name, ZEROS.get(flag.kind.word, "")) for name, flag in flags().items()
    }
    assert list(shown) == sorted(shown)


def test_values_are_shown_as_they_would_be_written():
    arguments = [
        "--feature-gates=ContextualLogging=true,AllAlpha=false",
        "--nodeport-addresses=a,b",
        "--vmodule=x=1,y=2",
        "--cleanup",
    ]
    shown = shown_flags(*arguments, "--kube-api-qps=2.5", "--config-sync-period=90s", "--version")
    assert shown["feature-gates"] == "AllAlpha=false,ContextualLogging=true"
    assert shown["nodeport-addresses"] == "[a,b]"
    assert shown["vmodule"] == "x=1,y=2"
    assert (shown["cleanup"], shown["version"]) == ("true", "true")
    assert (shown["kube-api-qps"], shown["config-sync-period"]) == ("2.5", "1m30s")


def test_without_a_file_some_flags_show_what_they_came_to():
    """A mode that nobody chose, an address without its port: an operator asks what holds."""
    shown = shown_flags("--healthz-bind-address=::1", "--metrics-port=9", "--hostname-override= Node-A ")
    assert (shown["proxy-mode"], shown["detect-local-mode"]) == ("iptables", "ClusterCIDR")
    assert (shown["healthz-bind-address"], shown["hostname-override"]) == ("[::1]:10256", "node-a")


_BESIDE_FILE = """
hostname-override v vmodule logging-format log-flush-frequency log-text-split-stream log-json-split-stream
log-text-info-buffer-size log-json-info-buffer-size
"""


def test_flags_that_count_beside_a_file():
    """All other flags with a field give way to the file."""
    assert {flag.name for flag in flags().values() if flag.paths and flag.beside_file} == set(
        _BESIDE_FILE.split()
    )


def test_another_command_may_read_its_flags_by_the_same_rules():
    known = {flag.name: flag for flag in OWN if flag.name in ("manifests", "help")}
    line = parse(["10.0.0.1:80", "--manifests=d", "--", "-x"], known)
    assert (line.given, line.words) == ({"manifests": "d"}, ("10.0.0.1:80", "-x"))
    with pytest.raises(FlagError):
        parse(["--proxy-mode=ipvs"], known)


@given(
    st.lists(
        st.text(max_size=8)
        | st.builds("--{}={}".format, st.sampled_from(sorted(flags())), st.text(max_size=8))
    )
)
def test_no_command_line_escapes_as_anything_but_a_flag_error(arguments):
    try:
        parse_flags(arguments)
    except FlagError as error:
        assert error.message
