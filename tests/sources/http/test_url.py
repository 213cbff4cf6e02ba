"""A URL is taken apart once, and what is no URL says why."""

import pytest

from kubeproxy.sources.http.url import Url, parse_url

GOOD = [
    ("https://10.96.0.1", "", Url("https", "10.96.0.1", 443), "10.96.0.1"),
    ("https://10.96.0.1:6443/", "", Url("https", "10.96.0.1", 6443), "10.96.0.1:6443"),
    ("https://[fd00::1]:443", "", Url("https", "fd00::1", 443), "[fd00::1]"),
    ("https://Api.Test/k8s/cluster-1/", "", Url("https", "api.test", 443, "/k8s/cluster-1"), "api.test"),
    ("http://localhost:8080", "", Url("http", "localhost", 8080), "localhost:8080"),
    ("api.test:6443", "https", Url("https", "api.test", 6443), "api.test:6443"),
    ("http://me:p%40ss@proxy:3128", "", Url("http", "proxy", 3128, "", "me", "p@ss"), "proxy:3128"),
]


@pytest.mark.parametrize(("text", "scheme", "url", "authority"), GOOD)
def test_a_url_is_read(text: str, scheme: str, url: Url, authority: str) -> None:
    assert parse_url(text, scheme) == url
    assert url.authority == authority


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it begins with none of http://, https://"),
        ("api.test:6443", "it begins with none of http://, https://"),
        ("ftp://api.test", "it begins with none of http://, https://"),
        ("https://", "it names no host"),
        ("https://api.test:port", "Port could not be cast to integer value as 'port'"),
        ("https://api.test:70000", "Port out of range 0-65535"),
        ("https://api.test/?watch=1", "there must be no ? or # in it"),
        ("https://api.test/a b", "there are blanks or control characters in it"),
        ("https://api.test/a\x7fb", "there are blanks or control characters in it"),
    ],
)
def test_what_is_no_url_says_why(text: str, why: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_url(text)
    assert str(caught.value) == why


def test_a_password_is_not_shown() -> None:
    assert str(parse_url("http://me:secret@proxy:3128")) == "http://proxy:3128"
