"""What to check, and how: the options of the command, as one value that processes share."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from inkube.schemas import releases
from inkube.schemas.offline import Finding


class InputError(Exception):
    """Something that the user passed cannot be used. The text says what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The options of a run."""

    paths: tuple[str, ...] = ()
    """Files and folders; `-` is standard input."""
    definitions: tuple[str, ...] = ()
    """Sources of definitions, as `definitions` reads them."""
    old: tuple[str, ...] = ()
    """Files and folders with the objects as they are stored."""
    exclude: tuple[str, ...] = ()
    """Patterns of files in folders, relative to the folder: `**/testdata/**`."""
    skip: tuple[str, ...] = ()
    """Kinds that are not checked: `Secret`, `apps/v1/Deployment`."""
    minors: tuple[int, ...] = (releases.NEWEST.minor,)
    removed_in: int = 0
    """Report versions that are removed up to this minor; 0: those of the minors only."""
    only_objects: bool = False
    """Whether named files can be something else than manifests, as files of folders can."""
    warn_unknown: bool = False
    ignore_missing: bool = False
    references: bool = False
    admission: bool = False
    """Whether the objects pass the admission of a server."""
    policies: tuple[str, ...] = ()
    """Files and folders with policies and what they need, besides those of the set."""
    user: str = ""
    """The user of the simulated writes, with groups behind commas; "" is an administrator."""
    operation: Literal["create", "update", "delete"] = "create"
    """The operation on objects; those with an old object are updated, unless it is `delete`."""
    modules: str = "all"
    """The modules whose kinds are known, as the option of `inkube serve`."""
    jobs: int = 1

    @property
    def admits(self) -> bool:
        """Whether an option asks for admission."""
        asked = self.policies or self.user or self.operation != "create"
        return self.admission or bool(asked)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or document that is no manifest: why."""

    file: str
    why: str
    """A noun in the singular: `kustomization`."""
    is_part: bool = False
    """Whether only a part of the file is left out: a document, or an item of a List."""


@dataclass(slots=True)
class Result:
    """The outcome of a run."""

    findings: list[Finding] = field(default_factory=list)
    documents: int = 0
    objects: Counter[str] = field(default_factory=Counter)
    """The number of objects by kind."""
    files: list[str] = field(default_factory=list)
    """The files with documents, in the order in which they were read."""
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was checked."""
        left_out = sum(each.is_part for each in self.skipped)
        return not self.findings and not self.objects and self.documents <= left_out

    @property
    def errors(self) -> Sequence[Finding]:
        """The findings that fail the check."""
        return [each for each in self.findings if each.is_error]

    @property
    def warnings(self) -> Sequence[Finding]:
        """The findings that do not."""
        return [each for each in self.findings if not each.is_error]

    def by_file(self) -> dict[str, list[Finding]]:
        """Return the findings of each file."""
        found: dict[str, list[Finding]] = {}
        for each in self.findings:
            found.setdefault(each.file, []).append(each)
        return found
