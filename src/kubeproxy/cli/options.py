"""The few options that a verb has beside the daemon's flags."""

from collections.abc import Sequence

from msgspec import Struct


class Option(Struct, frozen=True):
    """An option of a verb; without choices, any text will do."""

    name: str
    choices: tuple[str, ...] = ()
    short: str = ""


class OptionError(Exception):
    """A verb's command line makes no sense."""


def split_options(arguments: Sequence[str], options: Sequence[Option]) -> tuple[dict[str, str], list[str]]:
    """The verb's own options by name, and all other words as they were."""
    known = {f"--{option.name}": option for option in options}
    known |= {f"-{option.short}": option for option in options if option.short}
    found: dict[str, str] = {}
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        flag, equals, value = word.partition("=")
        option = known.get(flag)
        if option is None:
            rest.append(word)
            continue
        text = value if equals else next(words, None)
        if text is None:
            raise OptionError(f"{flag} needs a value")
        if option.choices and text not in option.choices:
            raise OptionError(f"{flag} is {' or '.join(option.choices)}, not {text!r}")
        found[option.name] = text
    return found, rest
