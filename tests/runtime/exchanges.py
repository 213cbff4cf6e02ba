"""Requests to the metrics port and what kube-proxy v1.36.4 was seen to answer, byte for byte.

Dates are `*`; so is what no two programs have alike. The lines of a head end in CR LF on the wire.
"""

TEXT = """\
Content-Type: text/plain; charset=utf-8
X-Content-Type-Options: nosniff
Date: *
"""
BARE = TEXT.replace("; charset=utf-8", "")
GUESSED = """\
Date: *
Content-Length: {}
Content-Type: text/plain; charset=utf-8
"""
NOT_FOUND = f"HTTP/1.1 404 Not Found\n{TEXT}Content-Length: 19\n\n404 page not found\n"
MODE = f"HTTP/1.1 200 OK\n{TEXT}Content-Length: 8\n"
OK = f"HTTP/1.1 200 OK\n{TEXT}Content-Length: 2\n\nok"
REFUSED = """\
HTTP/1.1 406 Not Acceptable
Content-Type: application/json
Date: *
Content-Length: 237

{
  "kind": "Status",
  "apiVersion": "v1",
  "metadata": {},
  "status": "Failure",
  "message": "only the following media types are accepted: application/json, application/yaml, text/plain",
  "reason": "NotAcceptable",
  "code": 406
}"""
FLAGS = """\
HTTP/1.1 200 OK
Date: *
Content-Length: 168
Content-Type: text/html; charset=utf-8

<html>
<head>
<title>/debug/flags/</title>
</head>
<body>
/debug/flags/<br>
<br>
flags:<br>
<table>
<tr>v<br>
</table>
<br>
full flags configurable<br>
</body>
</html>
"""
STATUSZ = """\
Date: *
Content-Length: {}

{{
  "kind": "Statusz",
  "apiVersion": "config.k8s.io/{}",
  "metadata": {{
    "name": "kube-proxy"
  }},
  "startTime": "*",
  "uptimeSeconds": *,
  "goVersion": "*",
  "binaryVersion": "1.36.4",
  "emulationVersion": "1.36",
  "paths": [
    "/configz",
    "/flagz",
    "/healthz",
    "/metrics",
    "/proxyMode"
  ]
}}"""
AS = "g=config.k8s.io;v={};as={}"

#: what is sent: first line, then headers; what comes back
EXCHANGES = [
    ("GET /proxyMode HTTP/1.1", "", f"{MODE}\niptables"),
    ("HEAD /proxyMode HTTP/1.1", "", f"{MODE}\n"),
    ("OPTIONS /proxyMode HTTP/1.1", "", f"{MODE}\niptables"),
    ("GET /proxyMode?x=1 HTTP/1.1", "", f"{MODE}\niptables"),
    ("GET http://foo/proxyMode HTTP/1.1", "", f"{MODE}\niptables"),
    ("GET /%70roxyMode HTTP/1.1", "", f"{MODE}\niptables"),
    ("GET /proxyMode HTTP/1.1", "Connection: close", f"{MODE}Connection: close\n\niptables"),
    ("GET /proxyMode HTTP/1.0", "", f"{MODE}\niptables".replace("HTTP/1.1", "HTTP/1.0")),
    (
        "GET /proxyMode HTTP/1.0",
        "Connection: keep-alive",
        f"{MODE}Connection: keep-alive\n\niptables".replace("HTTP/1.1", "HTTP/1.0"),
    ),
    ("GET /healthz HTTP/1.1", "", OK),
    ("POST /healthz HTTP/1.1", "", OK),
    ("GET /healthz/ping HTTP/1.1", "", f"HTTP/1.1 200 OK\n{GUESSED.format(2)}\nok"),
    (
        "GET /healthz?verbose HTTP/1.1",
        "",
        f"HTTP/1.1 200 OK\n{TEXT}Content-Length: 32\n\n[+]ping ok\nhealthz check passed\n",
    ),
    (
        "GET /healthz?exclude=ping&verbose HTTP/1.1",
        "",
        f"HTTP/1.1 200 OK\n{TEXT}Content-Length: 42\n\n[+]ping excluded: ok\nhealthz check passed\n",
    ),
    (
        "GET /healthz?verbose&exclude=foo&exclude=bar HTTP/1.1",
        "",
        (
            f"HTTP/1.1 200 OK\n{TEXT}Content-Length: 104\n\n[+]ping ok\n"
            'warn: some health checks cannot be excluded: no matches for "bar","foo"\nhealthz check passed\n'
        ),
    ),
    ("GET / HTTP/1.1", "", NOT_FOUND),
    ("GET /metrics/ HTTP/1.1", "", NOT_FOUND),
    ("GET //healthz HTTP/1.1", "", NOT_FOUND),
    ("GET /livez HTTP/1.1", "", NOT_FOUND),
    ("GET /readyz HTTP/1.1", "", NOT_FOUND),
    ("GET /version HTTP/1.1", "", NOT_FOUND),
    ("GET /flagz HTTP/1.1", "Accept: application/json", REFUSED),
    ("GET /flagz HTTP/1.1", f"Accept: application/cbor;{AS.format('v1beta1', 'Flagz')}", REFUSED),
    ("GET /flagz HTTP/1.1", f"Accept: application/json;{AS.format('v1beta1', 'Statusz')}", REFUSED),
    (
        "GET /statusz HTTP/1.1",
        f"Accept: application/json;{AS.format('v1beta1', 'Statusz')}",
        f"HTTP/1.1 200 OK\nContent-Type: application/json;{AS.format('v1beta1', 'Statusz')}\n"
        + STATUSZ.format("*", "v1beta1"),
    ),
    (
        "GET /statusz HTTP/1.1",
        f"Accept: application/json;{AS.format('v1alpha1', 'Statusz')}",
        f"HTTP/1.1 200 OK\nContent-Type: application/json;{AS.format('v1alpha1', 'Statusz')}\n"
        'Warning: 299 - "This version of the statusz endpoint is deprecated. Please use a newer version."\n'
        + STATUSZ.format("*", "v1alpha1"),
    ),
    (
        "GET /statusz HTTP/1.1",
        f"Accept: application/yaml;{AS.format('v1beta1', 'Statusz')}",
        (
            f"HTTP/1.1 200 OK\nContent-Type: application/yaml;{AS.format('v1beta1', 'Statusz')}\n"
            "Date: *\nContent-Length: *\n\napiVersion: config.k8s.io/v1beta1\nbinaryVersion: 1.36.4\n"
            'emulationVersion: "1.36"\ngoVersion: *\nkind: Statusz\nmetadata:\n  name: kube-proxy\npaths:\n'
            "- /configz\n- /flagz\n- /healthz\n- /metrics\n- /proxyMode\n"
            'startTime: "*"\nuptimeSeconds: *\n'
        ),
    ),
    (
        "GET /debug/pprof HTTP/1.1",
        "",
        (
            "HTTP/1.1 302 Found\nContent-Type: text/html; charset=utf-8\nLocation: /debug/pprof/\nDate: *\n"
            'Content-Length: 36\n\n<a href="/debug/pprof/">Found</a>.\n\n'
        ),
    ),
    ("GET /debug/flags HTTP/1.1", "", FLAGS),
    ("GET /debug/flags/ HTTP/1.1", "", FLAGS),
    ("GET /debug/flags/x HTTP/1.1", "", FLAGS),
    (
        "GET /debug/flags/v HTTP/1.1",
        "",
        f"HTTP/1.1 406 Not Acceptable\n{BARE}Content-Length: 24\n\nunsupported http method\n",
    ),
    (
        "DELETE /metrics/slis HTTP/1.1",
        "",
        f"HTTP/1.1 200 OK\n{GUESSED.format(14)}\nmetrics reset\n",
    ),
]
