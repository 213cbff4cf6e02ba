"""What is known by name: which names go, which stay, and what is said of them."""

import json
from typing import Any

from kubeproxy.api.change import Change, Delete, Synced, Upsert, ref_of
from kubeproxy.api.meta import Ref
from kubeproxy.sources.apiserver.account import Account
from kubeproxy.sources.apiserver.events import Ended, Gone, Mark, Put, Unusable, read_line
from kubeproxy.sources.apiserver.lines import TooLong
from kubeproxy.sources.apiserver.resources import resources
from tests.sources.apiserver.fake import bookmark, event
from tests.sources.objects import service

SERVICES = next(each for each in resources("node-a") if each.kind == "Service")
RANGES = next(each for each in resources("node-a") if each.kind == "ServiceCIDR")


def line(kind: str, obj: dict[str, Any]) -> Any:
    return read_line(SERVICES, event(kind, obj))


def said(account: Account, *events: Any) -> list[str]:
    return [words(change) for change in account.heard(events)]


def words(change: Change) -> str:
    match change:
        case Upsert(obj):
            return f"+{ref_of(obj)}"
        case Delete(ref):
            return f"-{ref}"
        case Synced(kind):
            return f"={kind}"


def test_what_a_list_no_longer_has_is_gone() -> None:
    account = Account(SERVICES)
    account.begin()
    assert said(account, line("ADDED", service("a")), line("ADDED", service("b")))
    assert [words(change) for change in account.whole()] == ["=Service"]
    account.begin()
    assert said(account, line("ADDED", service("b")), line("ADDED", service("c"))) == [
        "+Service shop/b",
        "+Service shop/c",
    ]
    assert [words(change) for change in account.whole()] == ["-Service shop/a"]
    assert len(account) == 2


def test_a_list_that_breaks_off_takes_nothing_away() -> None:
    """What it said holds, and what it did not say was not its last word."""
    account = Account(SERVICES)
    account.begin()
    said(account, line("ADDED", service("a")), line("ADDED", service("b")))
    list(account.whole())
    account.begin()
    said(account, line("ADDED", service("c")))
    account.begin()
    said(account, line("ADDED", service("a")))
    assert [words(change) for change in account.whole()] == ["-Service shop/b", "-Service shop/c"]


def test_an_end_of_what_nobody_knows_is_nothing() -> None:
    account = Account(SERVICES)
    assert said(account, line("DELETED", service("a"))) == []
    said(account, line("ADDED", service("a")))
    assert said(account, line("DELETED", service("a")), line("DELETED", service("a"))) == ["-Service shop/a"]


def test_a_list_with_an_object_that_cannot_even_be_named_takes_nothing_away() -> None:
    account = Account(SERVICES)
    account.begin()
    said(account, line("ADDED", service("a")))
    list(account.whole())
    account.begin()
    said(account, read_line(SERVICES, TooLong(b'{"type":"ADDED","object":{"spec":')))
    assert list(account.whole()) == []
    (notice,) = account.notices()
    assert (notice.ref, notice.problem) == (None, "too large to be an object of an API server; it is skipped")
    account.begin()
    assert [words(change) for change in account.whole()] == ["-Service shop/a"]


def test_a_mistake_is_told_once_until_it_is_another_one() -> None:
    account = Account(SERVICES)
    bad, worse = service("a", ports=5), service("a", type=7)
    for obj in (bad, bad, worse, worse, service("a"), bad):
        said(account, line("MODIFIED", obj))
    assert [(notice.field, notice.problem.partition("; ")[2]) for notice in account.notices()] == [
        ("spec.ports", "it is skipped"),
        ("spec.type", "it is skipped"),
        ("spec.ports", "it is kept as last heard"),
    ]
    assert account.notices() == ()


def test_lines_mean_this() -> None:
    a = service("a", meta={"resourceVersion": "9"})
    assert isinstance(line("ADDED", a), Put) and line("ADDED", a).version == "9"
    assert line("DELETED", a) == Gone(Delete(Ref("Service", "shop", "a")), "9")
    # Of what is gone only the name matters.
    assert line("DELETED", {**a, "spec": {"ports": "x"}}) == Gone(Delete(Ref("Service", "shop", "a")), "9")
    assert read_line(SERVICES, bookmark(12)) == Mark("12", whole=False)
    assert read_line(SERVICES, bookmark(12, whole=True)) == Mark("12", whole=True)
    ended = line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
    assert isinstance(ended, Ended) and ended.status.expired
    unusable = line("ADDED", {"metadata": {"name": "a", "namespace": "shop"}, "spec": 5})
    assert isinstance(unusable, Unusable) and unusable.ref == Ref("Service", "shop", "a")
    nameless = line("ADDED", {"metadata": {}})
    assert isinstance(nameless, Unusable) and nameless.ref is None


def test_a_line_that_was_too_long_is_named_by_its_start() -> None:
    start = json.dumps(
        {"type": "ADDED", "object": {"kind": "Service", "metadata": {"name": "a", "namespace": "b"}}}
    )
    for text in (start, start.replace(" ", "")):
        found = read_line(SERVICES, TooLong(text.encode()))
        assert isinstance(found, Unusable) and found.ref == Ref("Service", "b", "a")


def test_what_belongs_to_the_whole_cluster_has_no_namespace() -> None:
    found = read_line(RANGES, event("DELETED", {"metadata": {"name": "kubernetes"}}))
    assert found == Gone(Delete(Ref("ServiceCIDR", "", "kubernetes")), "")
