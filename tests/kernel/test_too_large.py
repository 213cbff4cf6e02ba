"""A payload too large for an ordinary user's buffer is nobody's fault, and the remedy is named."""

from kubeproxy.kernel.errors import KernelError, TooLarge
from kubeproxy.kernel.processes import Flavour, Programs
from kubeproxy.wire.restore import read_refusal


def test_what_is_too_large_is_not_blamed_on_a_line():
    words = "iptables-restore v1.8.9 (nf_tables): sendmsg: Message too long\nError occurred at line: 421\n"
    error = Programs(Flavour.NFT)._refused("iptables-restore", read_refusal(1, words))
    assert type(error) is TooLarge
    assert "net.core.wmem_max" in str(error)


def test_anything_else_that_names_a_line_is_an_ordinary_refusal():
    error = Programs(Flavour.NFT)._refused(
        "iptables-restore", read_refusal(1, "iptables-restore v1.8.9 (nf_tables): line 3 failed\n")
    )
    assert type(error) is KernelError
    assert error.line == 3
