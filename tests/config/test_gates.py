"""Feature gates: any name of the release is accepted, and a wrong one is refused with the right one beside it."""

import pytest

from kubeproxy.config.gatenames import LATER, NEEDS
from kubeproxy.config.gates import PROXY_GATES, Stage, gate_complaints, gate_enabled, gate_notices, gates


def test_every_name_of_the_release_is_known():
    later = {name for _, _, name in LATER}
    count: dict[tuple[Stage, bool], int] = {}
    for gate in gates().values():
        if gate.name not in later:
            count[gate.stage, gate.default] = count.get((gate.stage, gate.default), 0) + 1
    assert count == {
        (Stage.ALPHA, False): 50,
        (Stage.BETA, True): 88,
        (Stage.BETA, False): 12,
        (Stage.DEPRECATED, True): 6,
        (Stage.DEPRECATED, False): 10,
        (Stage.GA, True): 76,
    }
    assert sum(gate.locked for gate in gates().values()) == 76 - 5 + 5


def test_gates_with_an_effect_and_gates_with_needs_exist():
    assert set(PROXY_GATES) <= set(gates())
    assert set(NEEDS) | {needed for names in NEEDS.values() for needed in names} <= set(gates())


@pytest.mark.parametrize(
    ("given", "name", "enabled"),
    [
        ({}, "AllowServiceExternalIPs", True),
        ({"AllowServiceExternalIPs": False}, "AllowServiceExternalIPs", False),
        ({}, "LoggingAlphaOptions", False),
        ({"AllAlpha": True}, "LoggingAlphaOptions", True),
        ({"AllAlpha": True, "LoggingAlphaOptions": False}, "LoggingAlphaOptions", False),
        ({"AllAlpha": True}, "ComponentFlagz", True),
        ({"AllBeta": False}, "ComponentFlagz", False),
        ({"AllBeta": False}, "AllBeta", False),
        ({"AllBeta": False}, "AllowServiceExternalIPs", True),
        ({"AllBeta": True}, "SELinuxMount", True),
        ({}, "KubeProxyIPVS", True),
    ],
)
def test_whether_a_feature_is_on(given, name, enabled):
    assert gate_enabled(given, name) is enabled


def test_asking_for_a_gate_that_does_not_exist_is_a_mistake_of_ours():
    with pytest.raises(KeyError):
        gate_enabled({}, "Foo")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, []),
        ({"ComponentFlagz": False, "MultiCIDRServiceAllocator": True}, []),
        ({"Foo": True}, ["unrecognized feature gate: Foo; remove it: no component of this release has it"]),
        (
            {"ComponentFlags": True},
            ["unrecognized feature gate: ComponentFlags; did you mean ComponentFlagz?"],
        ),
        (
            {"MultiCIDRServiceAllocator": False},
            [
                "cannot set feature gate MultiCIDRServiceAllocator to false, feature is locked to true; remove it"
            ],
        ),
        (
            {"GitRepoVolumeDriver": True, "Foo": False},
            [
                "unrecognized feature gate: Foo; remove it: no component of this release has it",
                "cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false; remove it",
            ],
        ),
        (
            {"GangScheduling": True},
            [
                (
                    "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]; "
                    "switch GenericWorkload on, or GangScheduling off"
                )
            ],
        ),
        ({"GangScheduling": True, "GenericWorkload": True}, []),
        ({"AllAlpha": True}, []),
        ({"AllBeta": False}, []),
        (
            {"NodeDeclaredFeatures": False, "PodLevelResources": False},
            [
                (
                    "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: "
                    "[PodLevelResources NodeDeclaredFeatures]; switch PodLevelResources and NodeDeclaredFeatures on, or "
                    "InPlacePodLevelResourcesVerticalScaling off"
                ),
                (
                    "RestartAllContainersOnContainerExits is enabled, but depends on features that are disabled: "
                    "[NodeDeclaredFeatures]; switch NodeDeclaredFeatures on, or RestartAllContainersOnContainerExits off"
                ),
            ],
        ),
    ],
)
def test_what_is_wrong_with_gates_is_said(given, said):
    assert [str(complaint) for complaint in gate_complaints(given)] == said


def test_gates_on_their_way_out_are_accepted_with_a_word():
    given = {"KMSv1": True, "ComponentFlagz": True, "NFTablesProxyMode": True, "Foo": True}
    assert [str(notice) for notice in gate_notices(given)] == [
        "feature gate KMSv1 is deprecated; a later release will not know it",
        "feature gate NFTablesProxyMode is GA; a later release will not know it",
    ]
