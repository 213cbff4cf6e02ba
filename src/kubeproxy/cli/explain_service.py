"""A Service asked for by its name → its addresses, or why it has none here."""

from collections.abc import Iterator

from msgspec import Struct

from kubeproxy.api.meta import Ref
from kubeproxy.cli.explain_answer import Decision, Explanation
from kubeproxy.cli.explain_question import Question, Unclear
from kubeproxy.cli.explain_scene import Scene
from kubeproxy.model.identity import Family, PortName, ServiceName
from kubeproxy.routes.route import Frontend, FrontendKind, Lost, PortRoutes


class Place(Struct, frozen=True):
    """One address of a Service; `holder` is who has it instead."""

    name: PortName
    frontend: Frontend
    address: str
    holder: PortName | None = None


def named(question: Question, scene: Scene) -> ServiceName:
    """The Service that is meant; one name in several namespaces is not clear enough."""
    namespace, slash, name = question.service.rpartition("/")
    known = sorted(scene.picture.services)
    if slash:
        wanted = ServiceName(namespace, name)
        if wanted in scene.picture.services:
            return wanted
        raise _unknown(str(wanted), name, question, known)
    found = [service for service in known if service.name == name]
    if not found:
        raise _unknown(name, name, question, known)
    if len(found) > 1:
        listed = ", ".join(map(str, found))
        raise Unclear(f"{name!r} is in several namespaces: {listed}", str(found[0]))
    return found[0]


def places(question: Question, service: ServiceName, scene: Scene) -> list[Place]:
    """Every address of the ports that are asked about; empty if nothing of the Service is served here."""
    snapshot = scene.picture.tracker.snapshot
    ports = [port for family in Family for port in snapshot.ports_of(service, family)]
    wanted = [
        port
        for port in ports
        if question.port in (0, port.port, port.node_port)
        and question.port_name in ("", port.name.port)
        and question.protocol in ("", port.name.protocol)
    ]
    if ports and not wanted:
        has = ", ".join(dict.fromkeys(_port_words(port.name, port.port) for port in ports))
        raise Unclear(f"Service {service} has no such port; it has {has}", f"{service}:{ports[0].port}")
    found = [place for port in wanted for place in _places(scene.routes(port.name.family)[port.name], scene)]
    if wanted and question.port and not any(port.port == question.port for port in wanted):
        return [place for place in found if place.frontend.kind is FrontendKind.NODE_PORT]
    return found


def _places(decided: PortRoutes, scene: Scene) -> Iterator[Place]:
    fronts = [route.frontend for route in decided.routes]
    for front in fronts:
        yield Place(decided.name, front, _address(front, decided.name.family, scene))
    for lost in decided.lost:
        yield Place(decided.name, lost.frontend, _lost_address(lost, decided, scene), lost.holder)


def _address(front: Frontend, family: Family, scene: Scene) -> str:
    return front.address or scene.view(family).node_ip


def _lost_address(lost: Lost, decided: PortRoutes, scene: Scene) -> str:
    return _address(lost.frontend, decided.name.family, scene)


def unserved(question: Question, service: ServiceName, scene: Scene) -> Explanation:
    """A Service without any port here, in the words of whoever left it out."""
    ref = Ref("Service", service.namespace, service.name)
    # A notice without a field is about slices, which do not matter here.
    reasons = [notice for notice in scene.picture.notices if notice.ref == ref and notice.field]
    summary = f"not served here: Service {service}"
    if not reasons:
        problem = "it has no cluster IP, or no port that can be used"
        return Explanation(question.text, scene.node_name, scene.mode, f"{summary}, {problem}")
    fields = tuple(Decision(f"{one.field}: {one.value or '(empty)'}", one.problem) for one in reasons)
    remarks = tuple(f"to change that: {one.remedy}" for one in reasons)
    said = f"{summary}, {reasons[0].problem}"
    return Explanation(question.text, scene.node_name, scene.mode, said, decided=fields, remarks=remarks)


def _port_words(name: PortName, number: int) -> str:
    return f"{number}/{name.protocol}" + (f" ({name.port})" if name.port else "")


def _unknown(wanted: str, name: str, question: Question, known: list[ServiceName]) -> Unclear:
    """No such Service; the one that was probably meant is the example."""
    from difflib import get_close_matches

    names = {service.name: service for service in reversed(known)}
    alike = get_close_matches(name, names, n=1)
    example = names[alike[0]] if alike else known[0] if known else "10.96.0.10:80"
    # Who writes dots may have meant a name of the internet.
    other = ", and other names are not looked up" if "." in question.text else ""
    return Unclear(f"there is no Service {wanted}{other}", str(example))
