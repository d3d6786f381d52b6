"""Upgrades: merges the changes of an upstream package into a local package. Pure.

`merge` receives three packages (the old upstream, the new upstream and the local package) and one
of four strategies. Objects are matched by their upstream identity, in any file. Changes that clone
made to the local package do not count as local changes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from inkube.client import Object
from inkube.controllers.porch.files import documents, kptfile, packages
from inkube.controllers.porch.files.documents import Document, Files

STRATEGIES = ("resource-merge", "fast-forward", "force-delete-replace", "copy-merge")
MOST_CONFLICTS = 20
_KEYS = {
    "containers": ("name",), "initContainers": ("name",), "ephemeralContainers": ("name",),
    "env": ("name",), "volumes": ("name",), "imagePullSecrets": ("name",),
    "volumeMounts": ("mountPath",), "volumeDevices": ("devicePath",),
    "ports": ("containerPort", "port", "name"), "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey",), "conditions": ("type",),
    "readinessGates": ("conditionType",), "mutators": ("name", "image"),
    "validators": ("name", "image"), "secrets": ("name",),
}  # fmt: skip
"""Lists that are merged by item, and the members that identify items: the first one that all items
have."""
_MISSING: Any = object()


class Modified(Exception):
    """A fast-forward of a package with local changes; the message lists the changed files."""


class Merged(NamedTuple):
    """The files, and the fields that both sides changed (`FILE: field`), at most MOST_CONFLICTS."""

    files: Files
    conflicts: list[str]


def merge(original: Files, new: Files, local: Files, strategy: str = STRATEGIES[0]) -> Merged:
    """Upgrade the package. Raises Modified, and Unreadable for a package with invalid YAML."""
    if strategy == "fast-forward":
        changed = modified(original, local)
        if changed:
            raise Modified(", ".join(changed))
    if strategy in ("fast-forward", "force-delete-replace"):
        return Merged(dict(new), [])
    if strategy == "copy-merge":
        return Merged({**local, **new}, [])
    return _Merge(original, new, local).result()


def modified(original: Files, local: Files) -> list[str]:
    """Return the files of a local package that differ from upstream."""
    return [
        name
        for name in sorted({*original, *local})
        if name != packages.CONTEXT and not _same_file(name, original.get(name), local.get(name))
    ]


def _same_file(name: str, ours: str | None, theirs: str | None) -> bool:
    if ours == theirs:
        return True
    if ours is None or theirs is None or not documents.is_yaml(name):
        return False
    left, right = (documents.read_file(name, {name: text}) for text in (ours, theirs))
    return [_plain(each) for each in left] == [_plain(each) for each in right]


def _plain(document: Document) -> Any:
    """Return the value without the changes of clone and rendering."""
    value = packages.unmarked(document.value)
    if not documents.is_kptfile(document.file) or not isinstance(value, dict):
        return value
    kept = {k: v for k, v in value.items() if k not in ("upstream", "upstreamLock", "status")}
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        kept["metadata"] = {k: v for k, v in metadata.items() if k != "name"}
    return kept


Identity = tuple[str, ...]


class _Side:
    """One of the three packages."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.documents: dict[Identity, Document] = {}
        for document in documents.read(files):
            if document.is_object and not documents.is_kptfile(document.file):
                self.documents.setdefault(packages.upstream_identity(document), document)
        merged = {(each.file, each.index) for each in self.documents.values()}
        self.whole = {
            name
            for name in files
            if name != kptfile.NAME
            and not (documents.is_yaml(name) and any(file == name for file, _ in merged))
        }
        """Files that are merged as a whole: files that are not YAML, files without objects, and
        Kptfiles of subpackages."""
        others: dict[str, list[str]] = {}
        for document in documents.read(files):
            placed = (document.file, document.index) in merged
            if not placed and document.file not in self.whole and document.file != kptfile.NAME:
                others.setdefault(document.file, []).append(document.text)
        self.others = others
        """Documents in files with objects that cannot be identified: they stay in the local
        file."""


class _Merge:
    """One three-way merge."""

    def __init__(self, original: Files, new: Files, local: Files) -> None:
        self._old, self._new, self._local = _Side(original), _Side(new), _Side(local)
        self.conflicts: list[str] = []

    def result(self) -> Merged:
        files = self._whole_files()
        for name, texts in self._objects().items():
            files[name] = _as_before(name, texts, self._local.files, self._new.files)
        local, new = self._local.files.get(kptfile.NAME), self._new.files.get(kptfile.NAME)
        if local is not None or new is not None:
            files[kptfile.NAME] = self._kptfile(local, new)
        ordered = dict(sorted(files.items()))
        return Merged(ordered, self.conflicts[:MOST_CONFLICTS])

    def _whole_files(self) -> Files:
        """Return files without objects: upstream's version unless the local package changed
        them."""
        made: Files = {}
        old, new, local = self._old.files, self._new.files, self._local.files
        for name in sorted(self._local.whole | self._new.whole):
            if name in self._local.files and name not in self._local.whole:
                continue
            before, theirs, ours = old.get(name), new.get(name), local.get(name)
            if ours is None and before is not None:
                continue  # removed locally
            untouched = ours is None or _same_file(name, before, ours)
            chosen = theirs if untouched else ours
            if theirs is None and not untouched:
                chosen = ours
            if not untouched and theirs not in (before, ours):
                self._conflict(name, "the file")
            if chosen is not None:
                made[name] = chosen
        return made

    def _objects(self) -> dict[str, list[str]]:
        """Return the texts of the documents of each file."""
        placed: dict[str, list[tuple[int, int, str]]] = {}
        old, new, local = self._old.documents, self._new.documents, self._local.documents
        for identity in {**local, **new}:
            before, theirs, ours = old.get(identity), new.get(identity), local.get(identity)
            document = self._object(before, theirs, ours)
            if document is None:
                continue
            home = ours or theirs
            assert home is not None, "one of them has it"
            if ours and theirs and before and ours.file == before.file != theirs.file:
                home = theirs  # upstream moved it, the local package did not
            order = (0, home.index) if home is ours else (1, home.index)
            placed.setdefault(home.file, []).append((*order, document))
        for name, texts in self._local.others.items():
            placed.setdefault(name, []).extend((2, at, text) for at, text in enumerate(texts))
        return {name: [text for *_, text in sorted(found)] for name, found in placed.items()}

    def _object(
        self, before: Document | None, theirs: Document | None, ours: Document | None
    ) -> str | None:
        """Return the text of one object; None if it is removed."""
        if ours is None:
            return None if before is not None or theirs is None else theirs.text
        if theirs is None:
            if before is not None and _plain(before) == _plain(ours):
                return None
            if before is not None:
                self._conflict(ours.file, "/".join(part for part in _name(ours) if part))
            return ours.text
        if before is not None and _plain(before) == _plain(theirs):
            return ours.text
        if before is not None and before.value == ours.value:
            return theirs.text
        base = _plain(before) if before is not None else {}
        marks = ours.value if packages.unmarked(ours.value) != ours.value else None
        fields = _Fields(self, ours.file)
        target = fields.merge(base, _plain(theirs), packages.unmarked(ours.value), "")
        if marks is not None:
            identifier = documents.annotations(ours.value)[packages.IDENTIFIER]
            metadata = {**target["metadata"]}
            metadata["annotations"] = {
                **(metadata.get("annotations") or {}),
                packages.IDENTIFIER: identifier,
            }
            target = {**target, "metadata": metadata}
        return documents.edited(ours.text, lambda tree: become(tree, target))

    def _kptfile(self, local: str | None, new: str | None) -> str:
        if local is None or new is None:
            return str(local or new)
        before = documents.parse(self._old.files.get(kptfile.NAME, "{}")) or {}
        theirs, ours = documents.parse(new) or {}, documents.parse(local) or {}
        target = dict(ours)
        fields = _Fields(self, kptfile.NAME)
        for member in ("info", "pipeline", "inventory"):
            merged = fields.merge(
                before.get(member, _MISSING),
                theirs.get(member, _MISSING),
                ours.get(member, _MISSING),
                member,
            )
            if merged is _MISSING:
                target.pop(member, None)
            else:
                target[member] = merged
        sides = [
            {k: v for k, v in (side.get("metadata") or {}).items() if k != "name"}
            for side in (before, theirs, ours)
        ]
        metadata = fields.merge(sides[0], sides[1], sides[2], "metadata")
        target["metadata"] = {**_first(ours), **metadata}
        return documents.edited(local, lambda tree: become(tree, target))

    def _conflict(self, file: str, field: str) -> None:
        text = f"{file}: {field}"
        if text not in self.conflicts:
            self.conflicts.append(text)

    def note(self, file: str, field: str) -> None:
        """Record a field that both sides changed differently."""
        self._conflict(file, field)


def _first(value: Object) -> Object:
    name = (value.get("metadata") or {}).get("name")
    return {} if name is None else {"name": name}


def _name(document: Document) -> tuple[str, str]:
    _, kind, _, name = documents.identity(document.value)
    return kind, name


def _as_before(name: str, texts: list[str], *packages_: Files) -> str:
    """Return a file of these documents, with the bytes of the first package that has the same
    documents."""
    for files in packages_:
        if name in files and documents.split(files[name]) == texts:
            return files[name]
    return documents.join(texts)


class _Fields:
    """Merges the fields of one file; `_MISSING` represents a missing value."""

    def __init__(self, merge: _Merge, file: str) -> None:
        self._merge = merge
        self._file = file

    def merge(self, before: Any, theirs: Any, ours: Any, path: str) -> Any:
        """Upstream's value if upstream changed it, otherwise the local value."""
        if theirs == before:
            return ours
        if ours in (before, theirs):
            return theirs
        if isinstance(theirs, dict) and isinstance(ours, dict):
            return self._maps(before if isinstance(before, dict) else {}, theirs, ours, path)
        if theirs is _MISSING and isinstance(ours, dict) and isinstance(before, dict):
            return self._maps(before, {}, ours, path) or _MISSING
        key = _merge_key(path.rpartition(".")[2], before, theirs, ours)
        if key:
            return self._lists(before, theirs, ours, path, key)
        if before is not _MISSING or ours is not _MISSING:
            self._merge.note(self._file, path)
        return theirs

    def _maps(self, before: Object, theirs: Object, ours: Object, path: str) -> Object:
        made: Object = {}
        for name in {**ours, **theirs}:
            sides = [side.get(name, _MISSING) for side in (before, theirs, ours)]
            value = self.merge(sides[0], sides[1], sides[2], f"{path}.{name}" if path else name)
            if value is not _MISSING:
                made[name] = value
        return made

    def _lists(self, before: Any, theirs: Any, ours: Any, path: str, key: str) -> list[Any]:
        sides = [
            {item[key]: item for item in side} if isinstance(side, list) else {}
            for side in (before, theirs, ours)
        ]
        made = []
        for name in {**sides[2], **sides[1]}:
            found = [side.get(name, _MISSING) for side in sides]
            value = self.merge(found[0], found[1], found[2], f"{path}[{name}]")
            if value is not _MISSING:
                made.append(value)
        return made


def _merge_key(member: str, *sides: Any) -> str:
    """Return the member that identifies the items of a list; "" for a list that is merged as one
    value."""
    lists = [side for side in sides if side is not _MISSING]
    if not all(isinstance(side, list) for side in lists):
        return ""
    for key in _KEYS.get(member, ()):
        if all(_is_keyed(side, key) for side in lists):
            return key
    return ""


def _is_keyed(items: Sequence[Any], key: str) -> bool:
    keys = [item.get(key) if isinstance(item, dict) else None for item in items]
    return all(isinstance(each, str | int) for each in keys) and len(set(keys)) == len(keys)


def become(tree: Any, target: Object) -> None:
    """Make an editable map equal to a plain one. Equal parts stay, including their comments."""
    for name in [name for name in tree if name not in target]:
        del tree[name]
    for name, value in target.items():
        tree[name] = _become(tree.get(name, _MISSING), value)


def _become(node: Any, value: Any) -> Any:
    if node is _MISSING or (type(node) is not type(value) and node == value):
        return value if node is _MISSING else node
    if isinstance(node, dict) and isinstance(value, dict):
        become(node, value)
        return node
    if isinstance(node, list) and isinstance(value, list):
        key = next((k for keys in _KEYS.values() for k in keys if _is_keyed(node, k)), "")
        if key and _is_keyed(value, key):
            known = {item[key]: item for item in node}
            items = [_become(known.get(item[key], _MISSING), item) for item in value]
        else:
            items = [_become(*pair) for pair in zip(node, value, strict=False)]
            items += value[len(node) :]
        if len(items) == len(node) and all(a is b for a, b in zip(items, node, strict=True)):
            return node
        node[:] = items
        return node
    return node if node == value and isinstance(node, bool) is isinstance(value, bool) else value
