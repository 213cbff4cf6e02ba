"""A directory says what changed, and only that."""

import os
from pathlib import Path
from typing import Any

import pytest

from kubeproxy.api.endpointslice import EndpointSlice
from kubeproxy.api.service import Service
from kubeproxy.sources.manifests import ManifestsSource
from kubeproxy.sources.notice import Level
from tests.sources.objects import about, deletes, service, slice_of, synced, upserts, write


def test_the_first_reading_is_everything_and_says_so(tmp_path: Path) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}}
    cidr = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": ["10.96.0.0/12"]},
    }
    write(tmp_path, "a.yaml", slice_of(), service(), node)
    write(tmp_path, "b.json", cidr)
    reading = ManifestsSource(tmp_path).read()
    assert list(upserts(reading)) == [
        "Node node-a",
        "ServiceCIDR kubernetes",
        "Service shop/cart",
        "EndpointSlice shop/cart-1",
    ]
    assert synced(reading) == ["Service", "EndpointSlice", "Node", "ServiceCIDR"]
    assert reading.notices == ()


def test_an_empty_directory_is_an_empty_cluster(tmp_path: Path) -> None:
    reading = ManifestsSource(tmp_path).read()
    assert synced(reading) == ["Service", "EndpointSlice", "Node", "ServiceCIDR"]
    assert len(reading.changes) == 4


def test_an_edit_changes_one_object_and_leaves_the_others_the_same_object(tmp_path: Path) -> None:
    write(tmp_path, "shop.yaml", service(), slice_of(), service("web"), slice_of("web"))
    source = ManifestsSource(tmp_path)
    before = upserts(source.read())
    assert not source.read()
    write(tmp_path, "shop.yaml", service(ports=[{"port": 81}]), slice_of(), service("web"), slice_of("web"))
    reading = source.read()
    assert list(upserts(reading)) == ["Service shop/cart"]
    assert deletes(reading) == [] and synced(reading) == []
    write(
        tmp_path,
        "shop.yaml",
        service(),
        slice_of(),
        service("web"),
        slice_of("web"),
        service("more", clusterIP="10.96.9.9"),
    )
    reading = source.read()
    assert upserts(reading)["Service shop/cart"] == before["Service shop/cart"]
    assert list(upserts(reading)) == ["Service shop/cart", "Service shop/more"]


def test_an_edit_in_the_same_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    """Same size, same time: file systems can count slower than programs write."""
    path = write(tmp_path, "shop.yaml", service(ports=[{"port": 81}]), slice_of())
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    source = ManifestsSource(tmp_path)
    source.read()
    path.write_text(path.read_text().replace("81", "82"))
    os.utime(path, ns=times)
    assert list(upserts(source.read())) == ["Service shop/cart"]


def test_removing_an_object_or_a_file_deletes_it(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", service(), slice_of())
    write(tmp_path, "b.yaml", service("web"), slice_of("web"))
    source = ManifestsSource(tmp_path)
    source.read()
    write(tmp_path, "a.yaml", service())
    assert deletes(source.read()) == ["EndpointSlice shop/cart-1"]
    (tmp_path / "b.yaml").unlink()
    assert deletes(source.read()) == ["EndpointSlice shop/web-1", "Service shop/web"]
    write(tmp_path, "b.yaml", service("web"))
    assert list(upserts(source.read())) == ["Service shop/web"]


def test_moving_an_object_to_another_file_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", service(), slice_of())
    source = ManifestsSource(tmp_path)
    source.read()
    (tmp_path / "a.yaml").rename(tmp_path / "z.yaml")
    assert source.read().changes == ()


def test_the_second_of_a_name_takes_over_when_the_first_goes(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", service(clusterIP="10.96.0.1"), slice_of())
    write(tmp_path, "b.yaml", service(clusterIP="10.96.0.2"))
    source = ManifestsSource(tmp_path)
    source.read()
    (tmp_path / "a.yaml").unlink()
    reading = source.read()
    assert upserts(reading)["Service shop/cart"].spec.clusterIP == "10.96.0.2"  # type: ignore[union-attr]
    assert deletes(reading) == ["EndpointSlice shop/cart-1"]


# ---- what was good stays


@pytest.mark.parametrize("broken", ["kind: [", "kind: Service\n---\n\tx: 1", "\xff", "text"])
def test_a_file_that_cannot_be_read_keeps_what_was_read_of_it(tmp_path: Path, broken: str) -> None:
    write(tmp_path, "shop.yaml", service(), slice_of())
    source = ManifestsSource(tmp_path)
    source.read()
    (tmp_path / "shop.yaml").write_bytes(broken.encode("latin-1"))
    reading = source.read()
    assert reading.changes == ()
    assert reading.notices[-1].level is Level.WARNING
    assert reading.notices[-1].problem == "kept as last read: Service shop/cart and 1 more"
    write(tmp_path, "shop.yaml", service())
    assert deletes(source.read()) == ["EndpointSlice shop/cart-1"]


def test_a_refused_edit_leaves_the_object_as_it_was_like_an_api_server(tmp_path: Path) -> None:
    write(tmp_path, "shop.yaml", service(), slice_of(), service("web"), slice_of("web"))
    source = ManifestsSource(tmp_path)
    source.read()
    write(tmp_path, "shop.yaml", service(ports=[{"port": 99999}]), slice_of(), slice_of("web"))
    reading = source.read()
    assert upserts(reading) == {}
    assert deletes(reading) == ["Service shop/web"]
    problems = [(n.field, n.problem) for n in reading.notices if n.level is not Level.INFO]
    assert problems == [
        ("spec.ports[0].port", "outside 1 to 65535"),
        ("", "kept as last read: Service shop/cart"),
    ]
    write(tmp_path, "shop.yaml", service(), slice_of(), slice_of("web"))
    assert source.read().changes == ()


def test_an_unreadable_file_and_an_absent_directory_take_nothing_away(tmp_path: Path) -> None:
    home = tmp_path / "manifests"
    home.mkdir()
    write(home, "shop.yaml", service(), slice_of())
    source = ManifestsSource(home)
    source.read()
    (home / "shop.yaml").unlink()
    (home / "shop.yaml").mkdir()
    reading = source.read()
    assert reading.changes == ()
    assert [n.problem for n in reading.notices] == [
        "not a file",
        "kept as last read: Service shop/cart and 1 more",
    ]
    assert not source.read()
    home.rename(tmp_path / "elsewhere")
    reading = source.read()
    assert reading.changes == ()
    assert [n.problem for n in reading.notices] == ["the directory cannot be read: no such file or directory"]
    assert not source.read()
    home.mkdir()
    write(home, "shop.yaml", service())
    assert deletes(source.read()) == ["EndpointSlice shop/cart-1"]


def test_before_the_directory_exists_nothing_is_synced(tmp_path: Path) -> None:
    source = ManifestsSource(tmp_path / "later")
    reading = source.read()
    assert reading.changes == () and [n.level for n in reading.notices] == [Level.ERROR]
    (tmp_path / "later").mkdir()
    assert synced(source.read()) == ["Service", "EndpointSlice", "Node", "ServiceCIDR"]


def test_a_config_map_is_swapped_as_a_whole(tmp_path: Path) -> None:
    """As kubelet mounts one: names link into ..data, ..data links to a directory, and that link is replaced."""

    def version(name: str, *objects: Any) -> None:
        (tmp_path / name).mkdir()
        write(tmp_path / name, "shop.yaml", *objects)
        (tmp_path / "..data_tmp").symlink_to(name)
        (tmp_path / "..data_tmp").rename(tmp_path / "..data")

    version("..2024_01", service(), slice_of())
    (tmp_path / "shop.yaml").symlink_to("..data/shop.yaml")
    source = ManifestsSource(tmp_path)
    assert len(upserts(source.read())) == 2
    version("..2024_02", service(), slice_of(endpoints=[{"addresses": ["10.244.0.6"]}]))
    reading = source.read()
    assert list(upserts(reading)) == ["EndpointSlice shop/cart-1"]
    assert reading.notices == ()


# ---- what an API server would not send

PROXY_NAME = "service.kubernetes.io/service-proxy-name"
HEADLESS = "service.kubernetes.io/headless"


@pytest.mark.parametrize("value", ["mesh", "", None])
def test_a_service_of_another_proxy_is_left_out_whatever_the_label_says(
    tmp_path: Path, value: str | None
) -> None:
    write(tmp_path, "shop.yaml", service(meta={"labels": {PROXY_NAME: value}}), slice_of())
    source = ManifestsSource(tmp_path)
    reading = source.read()
    assert list(upserts(reading)) == ["EndpointSlice shop/cart-1"]
    (notice,) = reading.notices
    assert (notice.level, notice.field, notice.value) == (
        Level.INFO,
        f"metadata.labels[{PROXY_NAME}]",
        value or "",
    )
    write(tmp_path, "shop.yaml", service(), slice_of())
    assert list(upserts(source.read())) == ["Service shop/cart"]
    write(tmp_path, "shop.yaml", service(meta={"labels": {PROXY_NAME: value}}), slice_of())
    assert deletes(source.read()) == ["Service shop/cart"]


def test_headless_services_and_their_slices_are_left_out(tmp_path: Path) -> None:
    marked = slice_of(
        metadata={
            "name": "x",
            "namespace": "shop",
            "labels": {HEADLESS: "", "kubernetes.io/service-name": "cart"},
        }
    )
    write(tmp_path, "shop.yaml", service(clusterIP="None"), marked)
    reading = ManifestsSource(tmp_path).read()
    assert upserts(reading) == {}
    assert [(n.field, n.level) for n in reading.notices] == [
        ("spec.clusterIP", Level.INFO),
        (f"metadata.labels[{HEADLESS}]", Level.INFO),
    ]


def test_what_is_missing_is_said_once(tmp_path: Path) -> None:
    lost = slice_of(of="crat")
    unlabelled = slice_of(name="unlabelled", metadata={"name": "unlabelled", "namespace": "shop"})
    names = slice_of(name="names", addressType="FQDN", endpoints=[{"addresses": ["a.example"]}])
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop"}}
    knative = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "fn"}}
    write(
        tmp_path,
        "shop.yaml",
        service(),
        lost,
        unlabelled,
        names,
        pod,
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
        knative,
    )
    write(
        tmp_path,
        "shop2.yaml",
        service("outside", type="ExternalName", externalName="a.example", clusterIP=...),
    )
    source = ManifestsSource(tmp_path)
    reading = source.read()
    assert [(str(n.ref), n.level, n.problem) for n in reading.notices] == [
        ("Pod shop/web-1", Level.INFO, "ignored: nothing here runs it or makes endpoints of it"),
        ("Secret default/s", Level.INFO, "ignored: a service proxy does not read this kind"),
        ("Service default/fn", Level.INFO, "ignored: another API's Service"),
        ("EndpointSlice shop/unlabelled", Level.WARNING, "ignored: it does not say which Service it is of"),
        ("EndpointSlice shop/names", Level.WARNING, "ignored: packets cannot be sent to names"),
        ("Service shop/cart", Level.INFO, "no EndpointSlice or Endpoints of it, so connections to it are refused"),
        ("Service shop/outside", Level.INFO, "a name for DNS to answer with, so there is nothing to program"),
        ("EndpointSlice shop/crat-1", Level.INFO, "there is no Service shop/crat"),
    ]  # fmt: skip
    assert set(upserts(reading)) == {"Service shop/cart", "Service shop/outside", "EndpointSlice shop/crat-1"}
    write(tmp_path, "zzz.yaml", service("web", clusterIP="10.96.0.99"), slice_of("web"))
    assert source.read().notices == ()


# ---- Endpoints

ENDPOINTS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Endpoints",
    "metadata": {"name": "cart", "namespace": "shop"},
    "subsets": [
        {
            "addresses": [{"ip": "10.244.0.5", "nodeName": "node-a"}, {"ip": "fd00::5"}],
            "notReadyAddresses": [{"ip": "10.244.0.6"}],
            "ports": [{"port": 8080, "name": "http"}, {"port": 53, "protocol": "UDP", "name": "dns"}],
        },
        {"addresses": [{"ip": "10.244.0.7"}], "ports": [{"port": 9090, "name": "http"}]},
    ],
}


def test_endpoints_become_slices_where_there_are_none(tmp_path: Path) -> None:
    write(tmp_path, "shop.yaml", service(), ENDPOINTS)
    source = ManifestsSource(tmp_path)
    reading = source.read()
    assert reading.notices == ()
    found = {name: obj for name, obj in upserts(reading).items() if isinstance(obj, EndpointSlice)}
    shape = {
        name: (
            each.addressType,
            [(e.addresses, e.conditions.ready, e.nodeName) for e in each.endpoints],
            [(p.name, p.port, p.protocol) for p in each.ports],
        )
        for name, each in found.items()
    }
    both = [("http", 8080, "TCP"), ("dns", 53, "UDP")]
    assert shape == {
        "EndpointSlice shop/cart.endpoints-0-ipv4": ("IPv4", [(("10.244.0.5",), True, "node-a"), (("10.244.0.6",), False, None)], both),
        "EndpointSlice shop/cart.endpoints-0-ipv6": ("IPv6", [(("fd00::5",), True, None)], both),
        "EndpointSlice shop/cart.endpoints-1-ipv4": ("IPv4", [(("10.244.0.7",), True, None)], [("http", 9090, "TCP")]),
    }  # fmt: skip
    assert {each.metadata.labels["kubernetes.io/service-name"] for each in found.values()} == {"cart"}
    write(tmp_path, "slice.yaml", slice_of())
    reading = source.read()
    assert list(upserts(reading)) == ["EndpointSlice shop/cart-1"]
    assert deletes(reading) == sorted(found)
    assert [n.problem for n in about(reading, "shop.yaml")] == [
        "ignored: the Service has EndpointSlices of its own"
    ]


@pytest.mark.parametrize("label", [{"endpointslice.kubernetes.io/skip-mirror": "true"}, {HEADLESS: ""}])
def test_endpoints_not_meant_for_us(tmp_path: Path, label: dict[str, str]) -> None:
    metadata = {"name": "cart", "namespace": "shop", "labels": label}
    write(tmp_path, "shop.yaml", service(), ENDPOINTS | {"metadata": metadata})
    assert list(upserts(ManifestsSource(tmp_path).read())) == ["Service shop/cart"]


def test_yaml_as_people_write_it(tmp_path: Path) -> None:
    """The example of every tutorial, with nothing in it that can be left out."""
    (tmp_path / "my.yaml").write_text(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: my-service\nspec:\n  selector:\n    app: MyApp\n"
        "  ports:\n  - port: 80\n    targetPort: 9376\n---\napiVersion: v1\nkind: Endpoints\nmetadata:\n  name: my-service\n"
        "subsets:\n- addresses:\n  - ip: 192.0.2.42\n  ports:\n  - port: 9376\n"
    )
    reading = ManifestsSource(tmp_path).read()
    found = upserts(reading)
    assert list(found) == ["Service default/my-service", "EndpointSlice default/my-service.endpoints-0-ipv4"]
    my_service = found["Service default/my-service"]
    assert isinstance(my_service, Service)
    assert [n.field for n in reading.notices] == ["spec.clusterIP"]
    assert my_service.spec.clusterIP == reading.notices[0].value
