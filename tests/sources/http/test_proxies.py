"""The variables of a host mean to us what they mean to every other program on it."""

import pytest

from kubeproxy.sources.http.proxies import proxy_for
from kubeproxy.sources.http.url import Url, parse_url

PROXY = {"HTTPS_PROXY": "http://proxy:3128", "HTTP_PROXY": "plain:80"}
P = Url("http", "proxy", 3128)


@pytest.mark.parametrize(
    ("server", "more", "proxy"),
    [
        ("https://api.test:6443", {}, P),
        ("http://api.test:6443", {}, Url("http", "plain", 80)),
        ("https://api.test:6443", {"HTTPS_PROXY": ""}, None),
        ("https://api.test:6443", {"HTTPS_PROXY": "", "https_proxy": "socks5://s"}, Url("socks5", "s", 1080)),
        ("https://api.test:6443", {"https_proxy": "http://other"}, P),
        # never for this host itself
        ("https://localhost:6443", {}, None),
        ("https://127.0.0.9:6443", {}, None),
        ("https://[::1]:6443", {}, None),
        # NO_PROXY
        ("https://api.test:6443", {"NO_PROXY": "*"}, None),
        ("https://api.test:6443", {"no_proxy": "other, test"}, None),
        ("https://api.test:6443", {"NO_PROXY": "api.test"}, None),
        ("https://api.test:6443", {"NO_PROXY": "API.TEST:6443"}, None),
        ("https://api.test:6443", {"NO_PROXY": "api.test:443"}, P),
        ("https://api.test:6443", {"NO_PROXY": ".test"}, None),
        ("https://api.test:6443", {"NO_PROXY": "*.test"}, None),
        ("https://test:6443", {"NO_PROXY": ".test"}, P),
        ("https://test:6443", {"NO_PROXY": "*.test"}, P),
        ("https://xapi.test:6443", {"NO_PROXY": "api.test"}, P),
        ("https://10.96.0.1", {"NO_PROXY": "10.96.0.0/12"}, None),
        ("https://10.96.0.1", {"NO_PROXY": "10.97.0.0/16"}, P),
        ("https://10.96.0.1", {"NO_PROXY": "10.96.0.1"}, None),
        ("https://10.96.0.1", {"NO_PROXY": "10.96.0.1:443"}, None),
        ("https://10.96.0.1", {"NO_PROXY": "10.96.0.1:80"}, P),
        ("https://[fd00::1]", {"NO_PROXY": "fd00::/8"}, None),
        ("https://[fd00::1]", {"NO_PROXY": "[fd00::1]:443"}, None),
        ("https://[fd00::1]", {"NO_PROXY": "fd00:0::1"}, None),
        ("https://api.test", {"NO_PROXY": ",, ,"}, P),
    ],
)
def test_which_proxy_stands_before_a_server(server: str, more: dict[str, str], proxy: Url | None) -> None:
    assert proxy_for(parse_url(server), PROXY | more) == proxy


def test_a_variable_that_names_no_proxy_is_named() -> None:
    with pytest.raises(ValueError, match="HTTPS_PROXY: it begins with none of"):
        proxy_for(parse_url("https://api.test"), {"HTTPS_PROXY": "ftp://proxy"})
