"""An explanation as people read it: the verdict first, then one row for each thing there is to know."""

from collections.abc import Iterable, Iterator
from textwrap import wrap

from kubeproxy.cli.explain_answer import Answer, Decision, Explanation, From, Seen, To, Verdict

WIDTH = 100
_LABEL = 12
#: more lines than this of a kind are counted and not listed; the other format has them all
_MOST = 10
_FULL = 4

Row = tuple[str, str]


def text(explanation: Explanation) -> str:
    """The whole answer."""
    answers = explanation.answers
    if len(answers) == 1:
        return _join(_answer(answers[0], explanation))
    lines = [explanation.summary]
    lines += ["", *_overview(answers)] if answers else []
    lines += ["", *_rows(_decided(explanation.decided)), *_rows(_each("Note", explanation.remarks))]
    full = answers if len(answers) <= _FULL else answers[:1]
    for answer in full:
        lines += ["", f"--- {_kind(answer)}", *_answer(answer, explanation)]
    if len(full) < len(answers):
        lines += ["", "The others in full: ask for their addresses, or add -o json."]
    return _join(_squeezed(lines))


def _answer(answer: Answer, explanation: Explanation) -> list[str]:
    lines = [answer.summary, ""]
    lines += _rows([("From", _sender(answer.sent_from)), ("To", _target(answer))])
    lines += _rows([("Node", f"{explanation.node}, in {explanation.mode} mode")])
    lines += _rows(_decided(answer.decided))
    lines += _rows(_endpoints(answer))
    lines += _rows(_excluded(answer))
    if answer.pod_sees is not None:
        lines += _rows([("Pod sees", _seen(answer.pod_sees, answer.sent_from))])
    lines += _rows(_each("Note", answer.remarks))
    for step in answer.next:
        lines += _rows([("Next", f"{step.what}:" if step.command else step.what)])
        # A command that is folded is a command that cannot be copied.
        lines += [f"{'':{_LABEL}}  {step.command}"] if step.command else []
    lines += _rows(_path(answer))
    return lines


def _overview(answers: Iterable[Answer]) -> Iterator[str]:
    for answer in answers:
        yield f"  {_kind(answer)}, from {answer.sent_from.who}:"
        yield f"    {answer.summary}"


def _kind(answer: Answer) -> str:
    return f"{answer.service.kind} {_where(answer.to)}" if answer.service else _where(answer.to)


def _sender(sent: From) -> str:
    assumed = " (assumed; say another with --from)" if sent.assumed else ""
    return f"{sent.address}, {sent.who}{assumed}"


def _target(answer: Answer) -> str:
    where = _where(answer.to)
    if answer.service is None:
        return where
    return f"{where}, the {answer.service.kind} of Service {answer.service} ({answer.service.field})"


def _where(to: To) -> str:
    return f"{to.address} port {to.port}/{to.protocol}" if to.port else f"{to.address}, a ping"


def _decided(decided: Iterable[Decision]) -> Iterator[Row]:
    label = "Decided by"
    for decision in decided:
        yield label, f"{decision.field}"
        yield "", f"  {decision.because}"
        label = ""


def _endpoints(answer: Answer) -> Iterator[Row]:
    label, width = "Endpoints", max((len(one.endpoint) for one in answer.endpoints), default=0)
    mixed = len({one.sees for one in answer.endpoints}) > 1
    for one in answer.endpoints[:_MOST]:
        sees = f", sees {'this node' if one.sees == 'node' else 'the client'}" if mixed else ""
        chance = f"1 in {1 / one.chance:.3g}" if one.chance < 1 else "always"
        yield label, f"{one.endpoint:{width}}  {chance}, {one.where}{sees}"
        label = ""
    yield from _more(len(answer.endpoints))
    if not answer.endpoints and answer.verdict in (Verdict.REFUSED, Verdict.DROPPED) and answer.excluded:
        yield "Endpoints", "none"


def _excluded(answer: Answer) -> Iterator[Row]:
    label, width = "Left out", max((len(one.endpoint) for one in answer.excluded), default=0)
    for one in answer.excluded[:_MOST]:
        yield label, f"{one.endpoint:{width}}  {one.where}: {one.because}"
        label = ""
    yield from _more(len(answer.excluded))


def _seen(seen: Seen, sent: From) -> str:
    if seen.address == "node":
        return f"an address of this node and not {sent.address}: {seen.because}"
    return f"{seen.address}, the client itself; {seen.because}"


def _path(answer: Answer) -> Iterator[Row]:
    label, width = "Rules", max((len(one.place) for one in answer.path), default=0)
    for one in answer.path[:_MOST]:
        yield label, f"{one.place:{width}}  {one.what}"
        label = ""
    yield from _more(len(answer.path))
    yield from (("Look", one.look) for one in answer.path if one.decides)


def _more(count: int) -> Iterator[Row]:
    if count > _MOST:
        yield "", f"and {count - _MOST} more; -o json lists them all"


def _each(label: str, texts: Iterable[str]) -> Iterator[Row]:
    for said in texts:
        yield label, said
        label = ""


def _rows(rows: Iterable[Row]) -> Iterator[str]:
    """Label and text, the text folded below itself."""
    for label, said in rows:
        indent = len(said) - len(said.lstrip())
        folded = wrap(said.lstrip(), WIDTH - _LABEL - indent, break_long_words=False, break_on_hyphens=False)
        for number, line in enumerate(folded):
            start = label if number == 0 else ""
            yield f"{start:{_LABEL}}{' ' * indent}{line}"


def _squeezed(lines: Iterable[str]) -> Iterator[str]:
    """No two empty lines in a row, and none at the end."""
    before = ""
    for line in lines:
        if line or before:
            yield line
        before = line


def _join(lines: Iterable[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"
