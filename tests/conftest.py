"""What all tests share: how many random examples are tried, and which tests need a kernel."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).resolve().parent
# A property that fails prints how to reproduce it; no deadline, because a shared machine has slow moments.
settings.register_profile(
    "everyday",
    max_examples=60,
    deadline=None,
    print_blob=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("all", settings.get_profile("everyday"), max_examples=600)
# Whether a change is taken must not depend on chance: there the same examples are tried each time, and what
# chance finds is found by people's own runs.
settings.register_profile("taken", settings.get_profile("all"), derandomize=True)
_PROFILE = "taken" if os.environ.get("CI") else "all" if os.environ.get("TIERS") == "all" else "everyday"
settings.load_profile(_PROFILE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What lies in tests/lab needs a kernel: the directory says so, no test has to."""
    for item in items:
        if HERE / "lab" in item.path.parents:
            item.add_marker("lab")
