"""Twenty thousand spoilt manifests: none raises, none stops a good Service, and what gets through is sound."""

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from kubeproxy.api.addresses import parse_cidr, parse_ip
from kubeproxy.api.change import Delete, KubeObject, Upsert, ref_of
from kubeproxy.api.decode import decode_as
from kubeproxy.api.endpointslice import EndpointSlice
from kubeproxy.api.service import Service
from kubeproxy.sources.manifests import ManifestsSource
from tests.sources.objects import service, slice_of, write

GOLDEN = Path(__file__).parent.parent / "golden"
SEED = 20240601
TEXTS = [path.read_bytes() for path in sorted(GOLDEN.glob("*/manifests.yaml"))]
CLUSTERS: list[list[Any]] = [list(yaml.safe_load_all(text)) for text in TEXTS]
JUNK: list[Any] = [
    None, True, False, 0, 1, -1, 65535, 65536, 2**31, 2**63, 10**40, 0.5, 1e308, "", " ", "x", "None", "null", "TCP", "Local",
    "10.0.0.1", "fd00::1", "::ffff:10.0.0.1", "10.0.0.0/8", "0.0.0.0", "a" * 300, "ö", "\x00", "\x1b[2J", "a\nb", "*", "{}", "80",
    "headless", "ExternalName", "LoadBalancer", "NodePort", "List", "Service", "Endpoints", [], {}, [[]], [None], [{}],
    {"name": "x"}, {"items": []}, {"a": {"b": {"c": []}}}, ["10.0.0.1", "10.0.0.1"], [80, "80"],
]  # fmt: skip
SNIPPETS = [
    b"---\n", b"\n---\n", b"\t", b"\r", b": ", b"- ", b"{", b"}", b"[", b"]", b"'", b'"', b"&a ", b"*a ", b"!!x ", b"<<: ", b"#", b"|\n",
    b">", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xfe\xff", b"?", b"%YAML 9.9\n", b"...\n", b"\n", b"  ", b"null", b"\\", b"\x7f", b"\xc2\x85",
]  # fmt: skip
Chance = random.Random


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in a tree."""
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


def spoil_tree(chance: Chance) -> bytes:
    """One to three changes of structure, written as YAML or as JSON."""
    cluster = json.loads(json.dumps(chance.choice(CLUSTERS)))
    for _ in range(chance.randint(1, 3)):
        everywhere = list(places(cluster))
        if not everywhere:
            break
        chance.choice(TREE_CHANGES)(chance, everywhere)
    if chance.random() < 0.3:
        cluster = [{"apiVersion": "v1", "kind": "List", "items": cluster}]
    dump = json.dumps if chance.random() < 0.5 else yaml.safe_dump
    return "\n---\n".join(dump(document) for document in cluster).encode()


def replace(chance: Chance, everywhere: list[tuple[Any, Any]]) -> None:
    container, key = chance.choice(everywhere)
    container[key] = json.loads(json.dumps(chance.choice(JUNK)))


def remove(chance: Chance, everywhere: list[tuple[Any, Any]]) -> None:
    container, key = chance.choice(everywhere)
    del container[key]


def transplant(chance: Chance, everywhere: list[tuple[Any, Any]]) -> None:
    """A part from elsewhere, often of the right type in the wrong place."""
    (container, key), (other, name) = chance.choice(everywhere), chance.choice(everywhere)
    container[key] = json.loads(json.dumps(other[name]))


def rename(chance: Chance, everywhere: list[tuple[Any, Any]]) -> None:
    container, key = chance.choice(everywhere)
    if isinstance(container, dict):
        container[chance.choice(["", "x", str(key).upper(), "kind", "metadata", "items"])] = container.pop(
            key
        )


def wrap(chance: Chance, everywhere: list[tuple[Any, Any]]) -> None:
    container, key = chance.choice(everywhere)
    container[key] = (
        [container[key]] * chance.randint(1, 3) if chance.random() < 0.5 else {"x": container[key]}
    )


TREE_CHANGES: list[Callable[[Chance, list[tuple[Any, Any]]], None]] = [
    replace,
    replace,
    remove,
    transplant,
    rename,
    wrap,
]


def spoil_bytes(chance: Chance) -> bytes:
    """One to five changes of bytes that know nothing of structure."""
    text = bytearray(chance.choice(TEXTS))
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.randint(0, 40))
        match chance.randrange(5):
            case 0:
                text[at:at] = chance.choice(SNIPPETS)
            case 1:
                del text[at:end]
            case 2:
                text[at:end] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 4)))
            case 3:
                text[at:at] = text[at:end] * chance.randint(1, 3)
            case 4 if chance.random() < 0.3:
                del text[at:]
    return bytes(text)


LEGAL = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z")


def assert_sound(obj: KubeObject) -> None:
    """Whatever gets through can stand in a rule."""
    assert LEGAL.match(obj.metadata.name) and len(obj.metadata.name) <= 253 + 20
    assert decode_as(type(obj), msgspec.json.encode(obj)) == obj
    if isinstance(obj, Service):
        assert LEGAL.match(obj.metadata.namespace)
        assert all(parse_ip(text) for text in (*obj.spec.clusterIPs, *obj.spec.externalIPs))
        assert all(parse_cidr(text.strip()) for text in obj.spec.loadBalancerSourceRanges)
        for port in obj.spec.ports:
            assert (
                1 <= port.port <= 65535
                and 0 <= port.nodePort <= 65535
                and port.protocol in ("TCP", "UDP", "SCTP")
            )
            assert port.name == "" or LEGAL.match(port.name)
        assert obj.spec.type == "ExternalName" or (obj.spec.clusterIP and obj.spec.ports)
    if isinstance(obj, EndpointSlice):
        assert obj.metadata.labels["kubernetes.io/service-name"]
        assert all(parse_ip(text) for endpoint in obj.endpoints for text in endpoint.addresses)


def run(directory: Path, count: int, seed: int) -> tuple[int, int]:
    """Spoils `count` manifests, each read by a source that saw the one before; returns what got through and what was told."""
    print(f"seed {seed}")
    write(directory, "good.yaml", service("good", namespace="kept"), slice_of("good", namespace="kept"))
    mutant = directory / "mutant.yaml"
    source = ManifestsSource(directory)
    through, told = 0, 0
    held: dict[Any, KubeObject] = {}
    for number in range(count):
        chance = Chance(f"{seed}-{number}")
        mutant = directory / f"mutant.{'json' if number % 10 == 9 else 'yaml'}"
        mutant.write_bytes(spoil_tree(chance) if number % 2 else spoil_bytes(chance))
        try:
            reading = source.read()
            for change in reading.changes:
                if isinstance(change, Upsert):
                    held[ref_of(change.obj)] = change.obj
                    assert_sound(change.obj)
                elif isinstance(change, Delete):
                    del held[change.ref]
            assert all(str(notice).isprintable() and notice.remedy for notice in reading.notices)
            assert {"Service kept/good", "EndpointSlice kept/good-1"} <= {str(ref) for ref in held}
        except Exception as error:
            raise AssertionError(f"seed {seed}, mutant {number}:\n{mutant.read_bytes()!r}") from error
        through, told = through + len(reading.changes), told + len(reading.notices)
        mutant.unlink()
        if number % 2:
            source.read()
    return through, told


def test_a_thousand_mutants(tmp_path: Path) -> None:
    through, told = run(tmp_path, 1_000, SEED)
    assert through > 1_000 and told > 500


@pytest.mark.slow
def test_twenty_thousand_mutants(tmp_path: Path) -> None:
    through, told = run(tmp_path, 20_000, SEED + 1)
    assert through > 20_000 and told > 10_000
