"""Short ways to say a configuration file, for the tests beside this one."""

from kubeproxy.config.complaint import Complaint, ConfigError
from kubeproxy.config.decode import ConfigReading, decode_config

ENVELOPE = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"


def read(text: str) -> ConfigReading:
    """The reading of a file with this text below the two lines that every file has."""
    return decode_config(ENVELOPE + text, "kube-proxy.yaml")


def refused(text: str) -> tuple[Complaint, ...]:
    """The complaints about such a file; that there are some is part of the promise."""
    return complaints_about(ENVELOPE + text)


def complaints_about(whole: str) -> tuple[Complaint, ...]:
    """The complaints about a file that is given in full."""
    try:
        decode_config(whole, "kube-proxy.yaml")
    except ConfigError as error:
        return error.complaints
    raise AssertionError("the file was accepted")
