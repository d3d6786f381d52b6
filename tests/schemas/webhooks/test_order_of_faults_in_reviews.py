"""Of several faults in the review that a webhook answers, the first in a fixed order is reported.

The order is that of kube-apiserver: the type of the document, the types of its members, whom it
answers, what it says, and each object. Every pair of faults that can occur together is tested, in
both versions of the review.
"""

import copy
import itertools
import json
from typing import Any

import pytest

from inkube.schemas.webhooks import (
    ConversionError,
    InvalidAnswerError,
    ReplyError,
    conversionreview,
    replies,
    review,
)

GROUPS = {"AdmissionReview": "admission.k8s.io", "ConversionReview": "apiextensions.k8s.io"}
OBJECT = {
    "apiVersion": "example.com/v1",
    "kind": "Boat",
    "metadata": {"name": "a", "namespace": "b", "uid": "c"},
}
INVALID = "returned invalid object"
ONLY_V1 = ("expected", "webhook returned", "validating")
"""The beginnings of the texts of checks that v1beta1 does not have."""


def put(*path: Any, value: Any) -> Any:
    """Return a change that sets a member of the answer."""

    def change(answer: Any) -> None:
        for part in path[:-1]:
            answer = answer[part]
        answer[path[-1]] = value

    return change


def in_object(*path: str, value: Any) -> Any:
    return put("response", "convertedObjects", 0, *path, value=value)


ENVELOPE = [
    (put("kind", value=3), ("couldn't get version/kind; json parse error: json: cannot unmarshal "
                           "number into Go struct field .kind of type string")),
    (put("apiVersion", value="a/b/c"), "unexpected GroupVersion string: a/b/c"),
    (put("kind", value="Other"), 'no kind "Other" is registered for version'),
]  # fmt: skip
CONVERSION = [
    *ENVELOPE,
    (put("response", value="x"), ("json: cannot unmarshal string into Go struct field "
                                 "ConversionReview.response of type")),
    (put("response", "uid", value=3), ("json: cannot unmarshal number into Go struct field "
                                      "ConversionResponse.response.uid of type types.UID")),
    (put("response", "convertedObjects", value="x"), ("json: cannot unmarshal string into Go "
     "struct field ConversionResponse.response.convertedObjects of type []runtime.RawExtension")),
    (put("response", "result", value="x"), ("json: cannot unmarshal string into Go struct field "
                                           "ConversionResponse.response.result of type v1.Status")),
    (put("kind", value=""), ("expected webhook response of apiextensions.k8s.io/v1, "
                            "Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=")),
    (put("response", value=None), "no response provided"),
    (put("response", "uid", value="odd"), 'expected response.uid="u", got "odd"'),
    (put("response", "result", value={"status": "Failure", "message": "no"}), "failed: no"),
    (put("response", "convertedObjects", value=[]), "returned 0 objects, expected 1"),
    (put("response", "convertedObjects", 0, value=None), "unexpected end of JSON input"),
    (in_object("kind", value=3), "Object 'Kind' is missing in '{"),
    (in_object("apiVersion", value=3), ("at index 0: invalid groupVersion (expected "
                                        "example.com/v2, received )")),
    (in_object("kind", value="X"), "at index 0: invalid kind (expected Boat, received X)"),
    (in_object("metadata", value="x"), f"{INVALID}: must have the same name: a != "),
    (in_object("metadata", "name", value="x"), f"{INVALID}: must have the same name: a != x"),
    (in_object("metadata", "namespace", value=7), f"{INVALID}: must have the same namespace: b"),
    (in_object("metadata", "uid", value="x"), f"{INVALID}: must have the same UID: c != x"),
    (in_object("metadata", "labels", value="x"), "invalid metadata.labels of type string"),
    (in_object("metadata", "annotations", value={"a": 3}), ("metadata.annotations[a] must be a "
                                                           "string, but is int64")),
]  # fmt: skip
ADMISSION = [
    *ENVELOPE,
    (put("response", value=[]), ("json: cannot unmarshal array into Go struct field "
                                "AdmissionReview.response of type")),
    (put("response", "uid", value=3), ("json: cannot unmarshal number into Go struct field "
                                      "AdmissionResponse.response.uid of type types.UID")),
    (put("response", "patch", value={}), ("json: cannot unmarshal object into Go struct field "
                                         "AdmissionResponse.response.patch of type []uint8")),
    (put("response", "patch", value="***"), "illegal base64 data at input byte 0"),
    (put("response", value=None), "webhook response was absent"),
    (put("response", "uid", value="odd"), 'expected response.uid="u", got "odd"'),
    (put("apiVersion", value=""), ("expected webhook response of admission.k8s.io/v1, "
                                  "Kind=AdmissionReview, got /, Kind=AdmissionReview")),
    (put("response", "patch", value="W10="), ("webhook returned response.patch but not "
                                             "response.patchType")),
]  # fmt: skip


def refusal(document: Any, kind: str, version: str) -> str:
    """Return why an answer is refused, or ""."""
    named = GROUPS[kind], kind
    body = json.dumps(document).encode()
    try:
        found = replies.document(
            200, body, content_type="application/json", version=version, kind=named
        )
        if kind == "AdmissionReview":
            review.read(found, uid="u", version=version, is_mutating=True)
        else:
            conversionreview.read(found, [OBJECT], "example.com/v2", uid="u", version=version)
    except (ReplyError, InvalidAnswerError, ConversionError) as error:
        return str(error)
    return ""


def answer(kind: str, version: str) -> Any:
    response: Any = {"uid": "u", "allowed": True}
    if kind == "ConversionReview":
        converted = {**OBJECT, "apiVersion": "example.com/v2"}
        response = {"uid": "u", "result": {"status": "Success"}, "convertedObjects": [converted]}
    return {"apiVersion": f"{GROUPS[kind]}/{version}", "kind": kind, "response": response}


def changed(document: Any, *changes: Any) -> Any:
    """Return the answer with changes; None if one takes away what the next one changes."""
    document = copy.deepcopy(document)
    try:
        for change in changes:
            change(document)
    except (TypeError, IndexError):
        return None
    return copy.deepcopy(document)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize(
    ("kind", "faults"), [("AdmissionReview", ADMISSION), ("ConversionReview", CONVERSION)]
)
def test_the_first_fault_of_an_answer_is_reported(kind, faults, version):
    assert refusal(answer(kind, version), kind, version) == ""
    known = [fault for fault in faults if version == "v1" or not fault[1].startswith(ONLY_V1)]
    for change, text in known:
        assert text in refusal(changed(answer(kind, version), change), kind, version)
    pairs = 0
    for (first, text), (second, other) in itertools.combinations(known, 2):
        document = changed(answer(kind, version), first, second)
        if document is not None and document == changed(answer(kind, version), second, first):
            pairs += 1
            assert text in refusal(document, kind, version), other
    assert pairs > len(known)
