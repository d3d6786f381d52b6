"""allOf, anyOf, oneOf and not, with upstream's choice of the branch whose errors are shown.

This is the branch that passed the most checks, because the client probably meant it; `matches`
counts them as kube-openapi's Result.MatchCount does
(pkg/validation/validate/{schema,schema_props}.go).
"""

from collections.abc import Mapping
from types import NoneType
from typing import Any, Protocol

from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext
from inkube.schemas.structural import fieldpaths, formats, leafchecks
from inkube.schemas.structural.fieldpaths import Path
from inkube.schemas.structural.findings import Sink, Step, placeless
from inkube.schemas.structural.nodes import Node

Dispatch = Mapping[type, Step | None]
Branch = tuple[Node, Dispatch]


class Compiler(Protocol):
    """The source of the steps of every node (`compiler.Compiler`)."""

    def dispatch(self, node: Node | None) -> Dispatch:
        """Return the steps of a node, by the type of the value."""
        ...


def steps(compiler: Compiler, node: Node) -> list[Step]:
    """Return one step for all combinators of a node, in the order upstream merges their errors."""
    makers = (("anyOf", _any_of), ("oneOf", _one_of), ("allOf", _all_of))
    steps: list[Step] = []
    for keyword, maker in makers:
        branches = [(branch, compiler.dispatch(branch)) for branch in node.branches(keyword)]
        if branches:
            steps.append(maker(compiler, branches))
    refused = node.raw.get("not")
    if refused is not None:
        steps.append(_not(compiler.dispatch(Node(refused))))
    return steps


def _complaint(path: Path, text: str) -> FieldError:
    return placeless(f"{gotext.quote(fieldpaths.text(path))} {text}")


def _run(dispatch: Dispatch, value: Any, path: Path, errors: Sink) -> Sink:
    branch_errors = errors.fork()
    step = dispatch[type(value)]
    if step is not None:
        step(value, path, branch_errors)
    return branch_errors


def _any_of(compiler: Compiler, branches: list[Branch]) -> Step:
    def check_any(value: Any, path: Path, errors: Sink) -> None:
        kind = type(value)
        for _, dispatch in branches:
            if dispatch[kind] is None:
                return
        failures = []
        for _, dispatch in branches:
            branch_errors = _run(dispatch, value, path, errors)
            if not branch_errors:
                return
            failures.append(branch_errors)
        errors.append(_complaint(path, "must validate at least one schema (anyOf)"))
        errors.extend(_best(compiler, branches, failures, value))

    return check_any


def _one_of(compiler: Compiler, branches: list[Branch]) -> Step:
    def check_one(value: Any, path: Path, errors: Sink) -> None:
        results = [_run(dispatch, value, path, errors) for _, dispatch in branches]
        passed = sum(not branch_errors for branch_errors in results)
        if passed == 1:
            return
        how = f"Found {passed} valid alternatives" if passed else "Found none valid"
        errors.append(_complaint(path, f"must validate one and only one schema (oneOf). {how}"))
        if not passed:
            errors.extend(_best(compiler, branches, results, value))

    return check_one


def _all_of(_compiler: Compiler, branches: list[Branch]) -> Step:
    def check_all(value: Any, path: Path, errors: Sink) -> None:
        results = [_run(dispatch, value, path, errors) for _, dispatch in branches]
        failed = [branch_errors for branch_errors in results if branch_errors]
        if not failed:
            return
        for branch_errors in failed:
            errors.extend(branch_errors)
        how = ". None validated" if len(failed) == len(branches) else ""
        errors.append(_complaint(path, f"must validate all the schemas (allOf){how}"))

    return check_all


def _not(dispatch: Dispatch) -> Step:
    def check_not(value: Any, path: Path, errors: Sink) -> None:
        if not _run(dispatch, value, path, errors):
            errors.append(_complaint(path, "must not validate the schema (not)"))

    return check_not


def _best(compiler: Compiler, branches: list[Branch], failures: list[Sink], value: Any) -> Sink:
    if len(failures) == 1:
        return failures[0]
    counts = [matches(compiler, node, value) for node, _ in branches]
    return failures[counts.index(max(counts))]


def matches(compiler: Compiler, node: Node, value: Any) -> int:
    """Return the number of checks of a schema that a value passed (`Result.MatchCount`)."""
    kind = type(value)
    typed = bool(node.types or node.format)
    passes_type = not leafchecks.type_fails(node, value)
    if kind is NoneType:
        return int(passes_type)
    count = 3  # the combinators' own mark, the enum's check, the schema's mark
    count += 1 + _combined(compiler, node, value)
    if typed:
        count += 1 + passes_type
    if kind is str:
        count += 1 + bool(formats.check_for(node.format))
    elif kind in {int, float}:
        count += 2
    elif kind is list:
        count += 2 + _below(compiler, node, value)
    elif kind is dict:
        count += 1 + _below(compiler, node, value)
    return count


def _below(compiler: Compiler, node: Node, value: Any) -> int:
    if isinstance(value, list):
        items = node.items
        return sum(matches(compiler, items, item) for item in value) if items else 0
    if len(value) < (node.raw.get("minProperties") or 0):
        return 0
    pairs = ((node.children[name], item) for name, item in value.items())
    return sum(matches(compiler, child, item) for child, item in pairs if child is not None)


def _combined(compiler: Compiler, node: Node, value: Any) -> int:
    count = sum(matches(compiler, branch, value) for branch in node.branches("allOf"))
    for keyword in ("anyOf", "oneOf"):
        branches = node.branches(keyword)
        valid = [branch for branch in branches if _is_valid(compiler, branch, value)]
        if not valid:
            count += max((matches(compiler, branch, value) for branch in branches), default=0)
        elif keyword == "anyOf" or len(valid) == 1:
            count += matches(compiler, valid[0], value)
    return count


def _is_valid(compiler: Compiler, node: Node, value: Any) -> bool:
    return not _run(compiler.dispatch(node), value, None, Sink())
