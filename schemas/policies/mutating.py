"""The execution of a MutatingAdmissionPolicy: apiserver pkg/admission/plugin/policy/mutating."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from inkube.schemas import bodies
from inkube.schemas.cel import CelError, as_json, types
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.objects import Object
from inkube.schemas.ownership import Type, TypedSchema, UntypableError
from inkube.schemas.patch import JSONPatchFailure, PatchTestFailure, apply_json_patch
from inkube.schemas.policies.expressions import Budget, Expression, compiled
from inkube.schemas.policies.validating import CompiledPolicy, Variables

OBJECT: Final = (types.object_of("Object"),)
PATCHES: Final = (types.list_of(types.object_of("JSONPatch")),)
KINDS: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}


class MutationError(Exception):
    """A mutation that cannot be applied."""


class MutatingPolicy(CompiledPolicy):
    """A compiled stored policy, which can change any number of objects."""

    mutates = True

    @property
    def reinvoked(self) -> bool:
        """Whether the policy runs again if later admission changed the object."""
        return bool(self.spec.get("reinvocationPolicy") == "IfNeeded")

    @cached_property
    def _mutations(self) -> list[tuple[str, Expression]]:
        _ = self.variables
        environment = self.scope.environment()
        mutations = []
        for mutation in self.spec.get("mutations") or []:
            kind = mutation["patchType"]
            result_types = OBJECT if kind == "ApplyConfiguration" else PATCHES
            text = mutation[KINDS[kind]]["expression"]
            mutations.append((kind, compiled(text, environment, result_types)))
        return mutations

    def expressions(self) -> Iterator[tuple[str, Expression]]:
        """Yield the expressions that decide about requests, with their paths."""
        yield from super().expressions()
        for at, (kind, expression) in enumerate(self._mutations):
            yield f"spec.mutations[{at}].{KINDS[kind]}.expression", expression

    def change(
        self, values: Mapping[str, Any], typed: TypedSchema, decode: Callable[[Object], Object]
    ) -> tuple[Object, list[str]]:
        """Return the changed object, and the error of each mutation that failed, for a request to
        which the policy `applies`.

        Each mutation receives the result of those before it, which `decode` made an object of the
        kind; after one that failed, the others are applied all the same. Raises the errors of
        `decode`.
        """
        obj: Object = values["object"]
        failures = []
        for kind, expression in self._mutations:
            now = {**values, "object": obj}
            now["variables"] = Variables(self.variables, now)
            try:
                if kind == "ApplyConfiguration":
                    _check_typed(obj, typed)
                changed = _changed(kind, expression.evaluate(now, Budget()), (obj, typed))
            except (CelError, JSONPatchFailure, MutationError, UntypableError) as error:
                failures.append(_failure_message(expression, error))
            else:
                obj = obj if changed is obj else decode(changed)
        return obj, failures


def _check_typed(obj: Object, typed: TypedSchema) -> None:
    """Check that an object has the types of its schema. Raises MutationError."""
    checked = dict(obj)
    if "metadata" in obj:  # the options of a request to connect have none
        checked["metadata"] = {
            name: value for name, value in obj["metadata"].items() if name != "managedFields"
        }
    problems = typed.problems(checked, duplicates=False)
    if problems:
        problem_text = "; ".join(f"{problem.path}: {problem.message}" for problem in problems[:1])
        message = "failed to convert original object to typed object"
        raise MutationError(f"error applying patch: {message}: {problem_text}")


def _failure_message(expression: Expression, error: Exception) -> str:
    if isinstance(error, JSONPatchFailure):
        return f"JSON Patch: {error.bare_message}"
    if not isinstance(error, CelError):
        return str(error)
    return f"expression '{expression.text}' resulted in error: {error}"


def _changed(kind: str, result: Any, current: tuple[Object, TypedSchema]) -> Object:
    obj, typed = current
    if kind == "JSONPatch":
        return _patched(obj, [as_json(operation) for operation in result])
    identity = {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    applied = {**identity, **as_json(result)}
    problems = typed.problems(applied)
    if problems:
        raise MutationError(
            f"invalid ApplyConfiguration: {problems[0].path}: {problems[0].message}"
        )
    atomic = list(_atomics(typed.type, applied, ""))
    if atomic:
        raise MutationError(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
            + ", ".join(atomic)
        )
    return typed.merge(obj, applied)


def _atomics(kind: Type, value: Any, path: str) -> Iterator[str]:
    """Yield the paths at which a configuration sets atomic values."""
    if isinstance(value, dict) and kind.map is not None:
        if kind.map.atomic:
            yield path
        for name, child in value.items():
            if name in kind.map.fields:
                yield from _atomics(kind.map.fields[name], child, f"{path}.{name}")
    if isinstance(value, list) and kind.list is not None:
        if kind.list.atomic:
            yield path
        for index, child in enumerate(value):
            yield from _atomics(kind.list.element, child, f"{path}[{index}]")


def _patched(obj: Object, operations: list[Object]) -> Object:
    """Return the patched object; the unchanged object if a `test` finds another value."""
    try:
        patched, _ = apply_json_patch(obj, operations)
    except PatchTestFailure:
        return obj
    if not isinstance(patched, dict):
        raise JSONPatchFailure(bodies.type_meta_problem(patched))
    return patched
