"""A table is deleted in a batch of its own, and the whole batch has one number."""

from kubeproxy.wire.netlink import AF_INET6
from kubeproxy.wire.nfdelete import DeleteTable, delete_table_request


def test_the_bytes_of_a_deletion():
    request = delete_table_request(DeleteTable(AF_INET6, "kube-proxy"))
    assert request.thing == "table kube-proxy"
    assert request.encode(7).hex(" ", 4) == (
        "14000000 10000100 07000000 00000000 0000000a "
        "24000000 020a0500 07000000 00000000 0a000000 0f000100 6b756265 2d70726f 78790000 "
        "14000000 11000100 07000000 00000000 0000000a"
    )
