"""Words of a command line → values of flags, by the rules of Go's pflag, on which scripts rely."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from msgspec import Struct

from kubeproxy.config.complaint import Complaint, ConfigError, Form
from kubeproxy.config.flags import Flag
from kubeproxy.config.goliteral import quoted


class FlagError(ConfigError):
    """A command line that cannot be understood.

    Parsing stops at the first fault, because what follows may have been meant as part of it.
    """

    @property
    def message(self) -> str:
        """In the words of the stock proxy, without the remedy."""
        return self.complaints[0].problem


class CommandLine(Struct, frozen=True):
    """What was said: values by flag, other words, and what is to be said about old flags."""

    given: dict[str, Any]
    words: tuple[str, ...]
    warnings: tuple[str, ...]


def parse(arguments: Sequence[str], known: Mapping[str, Flag]) -> CommandLine:
    """The flags among the arguments and their values; FlagError at the first that is unknown or wrong."""
    return _Parser(arguments, known).run()


class _Parser:
    """Takes the arguments from the left."""

    def __init__(self, arguments: Sequence[str], known: Mapping[str, Flag]) -> None:
        self._rest = list(reversed(arguments))
        self._known = known
        self._short = {flag.short: flag for flag in known.values() if flag.short}
        self._given: dict[str, Any] = {}
        self._words: list[str] = []
        self._warnings: list[str] = []

    def run(self) -> CommandLine:
        while self._rest:
            word = self._rest.pop()
            if word == "--":
                self._words += reversed(self._rest)
                break
            if word.startswith("--"):
                self._long(word)
            elif word.startswith("-") and word != "-":
                self._shorts(word)
            else:
                self._words.append(word)
        return CommandLine(self._given, tuple(self._words), tuple(self._warnings))

    def _long(self, word: str) -> None:
        name, equals, value = word[2:].partition("=")
        if not name or name.startswith("-"):
            _refuse(word, f"bad flag syntax: {word}", "write --name or --name=value")
        flag = self._known.get(name.replace("_", "-"))
        if flag is None:
            _refuse(f"--{name}", f"unknown flag: --{name}", self._suggestion(name))
        if not equals:
            value = flag.kind.bare or self._next(flag, f"flag needs an argument: --{name}")
        self._set(flag, value)

    def _shorts(self, word: str) -> None:
        """One or more flags of one letter; the first that needs a value takes what is left of the word."""
        rest = word[1:]
        while rest:
            letter, rest = rest[0], rest[1:]
            flag = self._short.get(letter)
            if flag is None:
                said = f"unknown shorthand flag: {letter!r} in -{letter}{rest}"
                _refuse(word, said, "other flags than -v and -h have long names, with two dashes")
            if rest.startswith("="):
                self._set(flag, rest[1:])
                return
            if flag.kind.bare:
                self._set(flag, flag.kind.bare)
                continue
            self._set(flag, rest or self._next(flag, f"flag needs an argument: {letter!r} in -{letter}"))
            return

    def _next(self, flag: Flag, otherwise: str) -> str:
        if not self._rest:
            _refuse(
                f"--{flag.name}", otherwise, f"write --{flag.name}={flag.kind.word}, or leave the flag out"
            )
        return self._rest.pop()

    def _set(self, flag: Flag, text: str) -> None:
        try:
            value = flag.kind.parse(text)
        except ValueError as error:
            name = f"-{flag.short}, --{flag.name}" if flag.short else f"--{flag.name}"
            said = f"invalid argument {quoted(text)} for {quoted(name)} flag: {error}"
            _refuse(f"--{flag.name}", said, flag.kind.remedy, text)
        if flag.deprecated:
            self._warnings.append(f"Flag --{flag.name} has been deprecated, {flag.deprecated}")
        if value is None:
            return
        if flag.kind.adds and flag.name in self._given:
            before = self._given[flag.name]
            value = before | value if isinstance(before, dict) else before + value
        self._given[flag.name] = value

    def _suggestion(self, name: str) -> str:
        from difflib import get_close_matches

        alike = get_close_matches(name.replace("_", "-"), self._known, n=1)
        return f"did you mean --{alike[0]}?" if alike else "see --help for the flags there are"


def _refuse(field: str, problem: str, remedy: str, value: object = None) -> NoReturn:
    raise FlagError(Complaint(field, value, problem, remedy, form=Form.PLAIN))
