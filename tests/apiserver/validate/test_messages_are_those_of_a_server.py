"""`validate` and a running server say the same words of changed objects of all kinds.

`INKUBE_FUZZ=5000 pytest …` runs longer; `INKUBE_FUZZ_SEED` repeats a run.
"""

import asyncio
import copy
import json
import os
import random
import re
from typing import Any

import boats
import pytest
import samples
from mutations import mutate

from inkube.schemas import bodies, builtin, offline
from inkube.schemas.documents import Document
from inkube.schemas.golang import DecodeError
from inkube.schemas.meta import split_api_version
from inkube.schemas.offline.crdpaths import in_file

ROUNDS = int(os.environ.get("INKUBE_FUZZ", "400"))
SEED = int(os.environ.get("INKUBE_FUZZ_SEED", "1"))
_ASKED = {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}}
REVIEWS = {
    "authentication.k8s.io/v1/SelfSubjectReview": {},
    "authentication.k8s.io/v1/TokenReview": {"spec": {"token": "a", "audiences": ["b"]}},
    "authorization.k8s.io/v1/LocalSubjectAccessReview": {
        "metadata": {"namespace": "default"}, "spec": {**_ASKED, "user": "ann", "groups": ["g"]}},
    "authorization.k8s.io/v1/SelfSubjectAccessReview": {"spec": _ASKED},
    "authorization.k8s.io/v1/SelfSubjectRulesReview": {"spec": {"namespace": "default"}},
    "authorization.k8s.io/v1/SubjectAccessReview": {"spec": {**_ASKED, "user": "ann", "uid": "u"}},
}  # fmt: skip
KINDS = sorted([*samples.OBJECTS, *REVIEWS, "certificates.k8s.io/v1/CertificateSigningRequest"])
"""All kinds that clients can create, except Binding, which needs a stored pod."""
RULES = {"wrong-type", "unknown-field", "repeated-field", "warning", "deprecated", "scope"}
"""Codes of findings that are no causes of a 422."""
OTHER_NAMESPACE = b"does not match the namespace sent on the request"
"""Words about the address of a request, which a file has not."""
QUOTED = re.compile(r'299 - "(.*)"', re.DOTALL)
PLURALS = {(each.group, each.names.kind): each for each in builtin.definitions()}
CRD = boats.definition(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "x-kubernetes-validations": [{"rule": "self.size > 1", "message": "too small"}],
                "properties": {
                    "size": {"type": "integer"},
                    "crew": {"type": "array", "items": {"type": "string"}},
                },
            }
        },
    },
    "Raft",
    group="example.org",
)


def samples_of() -> dict[str, tuple[dict[str, Any], str]]:
    """Return a valid object and the path of its collection, for each kind."""
    found = {}
    for kind in KINDS:
        api_version, _, name = kind.rpartition("/")
        group, version = split_api_version(api_version)
        definition = PLURALS[group, name]
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        place = f"{root}/namespaces/default" if definition.namespaced else root
        typed = {"apiVersion": api_version, "kind": name}
        sample = {**typed, **REVIEWS[kind]} if kind in REVIEWS else samples.make(api_version, name)
        found[kind] = (sample, f"{place}/{definition.names.plural}")
    boat = {"apiVersion": "example.org/v1", "kind": "Raft", "metadata": {"name": "a"}}
    boats = "/apis/example.org/v1/namespaces/default/rafts"
    found["example.org/v1/Raft"] = ({**boat, "spec": {"size": 3, "crew": ["a"]}}, boats)
    return found


@pytest.fixture
def checks():
    """The checks, with the definition of a custom resource."""
    found = offline.Checks(offline.Kinds.of_minor())
    document = Document("crd.json", 1, 1, json.dumps(CRD).encode(), "json")
    assert not list(found.define(offline.parts(document)))
    return found


def changed(rng: random.Random, sample: dict[str, Any]) -> bytes:
    """Return a changed object, with the type of the sample."""
    value = copy.deepcopy(sample)
    inner = {key: value[key] for key in value if key not in ("apiVersion", "kind")}
    for _ in range(rng.choice((1, 1, 2))):
        made = mutate(rng, inner)
        inner = made if isinstance(made, dict) else inner
    inner |= {"apiVersion": sample["apiVersion"], "kind": sample["kind"]}
    return json.dumps(inner).encode("utf-8", "surrogatepass")


@pytest.mark.asyncio(loop_scope="module")
async def test_validate_has_the_words_of_a_server(web, checks):
    rng = random.Random(SEED)
    assert (
        await web.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    ).code == 201
    await web.server.settled()
    known = samples_of()
    differences, told, warned = [], 0, 0
    for number in range(ROUNDS):
        kind = rng.choice(sorted(known))
        sample, path = known[kind]
        body = changed(rng, sample)
        try:
            bodies.decode(body, "json", want_duplicates=True)
        except DecodeError:
            continue  # `test_nothing_that_cannot_be_read…` compares texts of parsers
        strict, plain = await asyncio.gather(
            web.ask("POST", f"{path}?dryRun=All&fieldValidation=Strict", body),
            web.ask("POST", f"{path}?dryRun=All&fieldValidation=Ignore", body),
        )
        document = Document("a.json", 1, 1, body, "json")
        found = [each for part in offline.parts(document) for each in checks.check(part)]
        why = difference(strict, plain, found, kind)
        told += bool(found)
        warned += bool(plain.warnings)
        if why:
            differences.append(f"{number} {kind}: {why}\n  {body.decode(errors='replace')[:600]}")
    assert told > ROUNDS / 3
    assert warned > ROUNDS / 100
    assert not differences, f"{len(differences)} of {ROUNDS}\n" + "\n".join(differences[:10])


def difference(strict: Any, plain: Any, found: list[offline.Finding], kind: str) -> str:
    """Return what a server says differently, "" if it says the same. Admission has no offline
    checks here: 403 and 404 say nothing. Of reviews, nothing but the decoding is checked."""
    if plain.code in (403, 404, 409, 413) or OTHER_NAMESPACE in plain.body:
        return ""
    errors = [each for each in found if each.is_error]
    decoding = [each for each in errors if each.code == "wrong-type"]
    unknown = [each for each in errors if each.code in ("unknown-field", "repeated-field")]
    message = strict.json.get("message", "") if strict.code == 400 else ""
    if strict.code == 400 and "strict decoding error" in message:
        listed = message.partition("strict decoding error: ")[2]
        if sorted(each.message for each in unknown) != sorted(split(listed)):
            return f"the server refuses {listed}, not {[each.message for each in unknown]}"
    elif unknown and strict.code != 400:
        return f"only validate finds {[each.message for each in unknown]}"
    if kind in REVIEWS and plain.code in (400, 422) and "json: " not in plain.json["message"]:
        return ""
    if plain.code == 400:
        text = plain.json["message"]
        if not any(each.message in text for each in errors):
            return f"the server says {text}, not {[each.message for each in errors]}"
        return ""
    causes = plain.json.get("details", {}).get("causes", []) if plain.code == 422 else []
    told = {(cause.get("field", ""), cause["message"]) for cause in causes}
    if kind.endswith("CustomResourceDefinition"):  # findings name the path in the file
        told = {(in_file(field), message) for field, message in told}
    ours = {(each.field, each.message) for each in errors if each.code not in RULES}
    ours = {(field or "<nil>" if ("<nil>", text) in told else field, text) for field, text in ours}
    if plain.code == 422 and not decoding and told != ours:
        return f"the server finds {sorted(told - ours)}, validate {sorted(ours - told)}"
    if plain.code in (200, 201) and (ours or decoding):
        return f"only validate refuses: {sorted(ours)} {[each.message for each in decoding]}"
    if plain.code in (200, 201):
        warned, shown = sorted(warnings_of(plain)), sorted(map(text_of, warnings_in(found)))
        if warned != shown:
            return f"the server warns {warned}, validate {shown}"
    return ""


def warnings_of(answer: Any) -> list[str]:
    """Return the texts of the headers."""
    quoted = [QUOTED.fullmatch(each)[1] for each in answer.warnings]
    return [re.sub(r"\\(.)", r"\1", text) for text in quoted]


def warnings_in(found: list[offline.Finding]) -> list[offline.Finding]:
    """Return the findings that a server's warning is, not those about what it ignores silently."""
    return [each for each in found if each.code in ("warning", "deprecated")]


def text_of(warning: offline.Finding) -> str:
    """Return the words of a server, which begin with the field."""
    return f"{warning.field}: {warning.message}" if warning.field else warning.message


def split(listed: str) -> list[str]:
    """Return the single texts of a strict error."""
    return re.split(r', (?=(?:unknown|duplicate) field ")', listed)
