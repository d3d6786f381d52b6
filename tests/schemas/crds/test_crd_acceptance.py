"""Names are accepted if no other CRD of the group has them; conditions show the result."""

import copy

import pytest

from inkube.schemas import crds

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def crd(plural, kind, *, group="example.com", annotations=None, **names):
    body = {
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations or {}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": [{"name": "v1", "served": True, "storage": True}],
        },
    }
    made, _ = crds.decode(body)
    crds.default(made)
    crds.prepare_create(made)
    return made


def accepted(made, others=(), now=NOW):
    status = crds.next_status(made, others, now)
    return {**made, "status": status} if status is not None else made


def condition(made, kind):
    return next((c for c in made["status"]["conditions"] or () if c["type"] == kind), None)


def test_a_new_definition_is_accepted_and_established():
    boats = accepted(crd("boats", "Boat", shortNames=["bo"], categories=["all"]))
    assert boats["status"]["acceptedNames"] == {
        "plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList",
        "shortNames": ["bo"], "categories": ["all"],
    }  # fmt: skip
    assert condition(boats, "NamesAccepted") == {
        "type": "NamesAccepted", "status": "True", "reason": "NoConflicts",
        "message": "no conflicts found", "lastTransitionTime": NOW,
    }  # fmt: skip
    assert condition(boats, "Established")["reason"] == "InitialNamesAccepted"
    assert crds.next_status(boats, [boats], LATER) is None


def test_conditions_are_not_restored_while_the_names_are_those_accepted():
    boats = accepted(crd("boats", "Boat", shortNames=["bo"]))
    status = {**boats["status"], "conditions": []}
    assert crds.next_status({**boats, "status": status}, [], LATER) is None
    ships = accepted(crd("ships", "Ship"))
    names = ships["spec"]["names"]
    clashing = {**ships, "spec": {**ships["spec"], "names": {**names, "shortNames": ["bo"]}}}
    refused = accepted(clashing, [boats])
    assert condition(refused, "NamesAccepted")["reason"] == "ShortNamesConflict"
    assert crds.next_status({**ships, "status": refused["status"]}, [boats], LATER) is None


def test_a_definition_with_accepted_names_is_established_again():
    boats = accepted(crd("boats", "Boat"))
    status = {**boats["status"], "conditions": [condition(boats, "NamesAccepted")]}
    again = accepted({**boats, "status": status}, now=LATER)
    assert condition(again, "Established")["lastTransitionTime"] == LATER


TAKEN = {
    "plural": ({"plural": "boat", "singular": "x"}, "PluralConflict", "boat"),
    "singular": ({"singular": "bo"}, "SingularConflict", "bo"),
    "short": ({"shortNames": ["s", "boats"]}, "ShortNamesConflict", "boats"),
    "kind": ({"kind": "BoatList", "listKind": "X"}, "KindConflict", "BoatList"),
    "list kind": ({"listKind": "Boat"}, "ListKindConflict", "Boat"),
}


@pytest.mark.parametrize(("names", "reason", "name"), TAKEN.values(), ids=TAKEN)
def test_a_name_that_is_taken_is_not_accepted(names, reason, name):
    boats = accepted(crd("boats", "Boat", shortNames=["bo"]))
    wanted = {"plural": "ships", "kind": "Ship"} | names
    ships = accepted(crd(**wanted), [boats])
    found = condition(ships, "NamesAccepted")
    assert (found["status"], found["reason"]) == ("False", reason)
    assert found["message"] == f'"{name}" is already in use'
    assert condition(ships, "Established")["message"] == "not all names are accepted"


def test_other_groups_do_not_matter():
    boats = accepted(crd("boats", "Boat"))
    assert (
        condition(accepted(crd("boats", "Boat", group="b.org"), [boats]), "Established")["status"]
        == "True"
    )


def test_an_established_definition_keeps_its_old_names_and_stays_established():
    boats = accepted(crd("boats", "Boat", shortNames=["bo"]))
    ships = accepted(crd("ships", "Ship", shortNames=["sh"]), [boats])
    greedy = copy.deepcopy(ships)
    greedy["spec"]["names"]["shortNames"] = ["bo", "sh", "new"]
    greedy = accepted(greedy, [boats], LATER)
    assert greedy["status"]["acceptedNames"]["shortNames"] == ["sh"]
    assert condition(greedy, "NamesAccepted")["lastTransitionTime"] == LATER
    assert condition(greedy, "Established")["lastTransitionTime"] == NOW
    assert condition(greedy, "Established")["status"] == "True"
    alone = accepted(greedy, [], LATER)
    assert alone["status"]["acceptedNames"]["shortNames"] == ["bo", "sh", "new"]


def test_a_protected_group_shows_how_it_was_approved():
    link = {"api-approved.kubernetes.io": "https://example.com/pull/1"}
    boats = accepted(crd("boats", "Boat", group="x.k8s.io", annotations=link))
    assert condition(boats, "KubernetesAPIApprovalPolicyConformant")["status"] == "True"
    boats["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, for fun"}
    boats = accepted(boats, now=LATER)
    found = condition(boats, "KubernetesAPIApprovalPolicyConformant")
    assert found == {
        "type": "KubernetesAPIApprovalPolicyConformant", "status": "False",
        "reason": "UnapprovedAnnotation", "message": 'not approved: "unapproved, for fun"',
        "lastTransitionTime": LATER,
    }  # fmt: skip


def test_a_status_takes_no_part_in_creation_and_update():
    boats = crd("boats", "Boat")
    boats["status"] = {"storedVersions": ["v7"], "acceptedNames": {}, "conditions": []}
    crds.prepare_create(boats)
    assert boats["status"] == {
        "acceptedNames": {"kind": "", "plural": ""}, "conditions": None, "storedVersions": ["v1"]
    }  # fmt: skip
    new = copy.deepcopy(boats)
    new["status"]["storedVersions"] = ["v9"]
    crds.prepare_update(new, boats)
    assert new == boats
    new["spec"]["names"]["shortNames"] = ["b"]
    crds.prepare_update(new, boats)
    assert new["metadata"]["generation"] == 2


def test_deletion_is_marked_once():
    boats = accepted(crd("boats", "Boat"))
    assert crds.prepare_delete(boats, LATER)
    assert boats["metadata"]["deletionTimestamp"] == LATER
    assert boats["metadata"]["finalizers"] == [crds.FINALIZER]
    assert condition(boats, "Terminating")["reason"] == "InstanceDeletionPending"
    assert not crds.prepare_delete(boats, NOW)
