"""Modules of installed packages: found by entry point, built in order, refused with a reason."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from patience import within

from inkube import APIServer, BadOption, Options, StatusError
from inkube.apiserver import modules
from inkube.apiserver.cli import main

SOURCE = """
from inkube.kinds import (
    Controller, KindModule, Model, ModuleOption, ModuleParts, Resource, check, Invalid,
)

class BoxSpec(Model):
    size: int = 1

class Box(Resource, group="{name}.example", version="v1", plural="boxes"):
    spec: BoxSpec

class Boxes:
    groups = ("{group}",)
    needs = {needs}
    options = (ModuleOption("{name}_size", "small", "How large.", choices=("small", "large")),)
    log = []

    def build(self, host):
        self.log.append(("built", dict(host.settings), sorted(host.services)))

        async def close():
            self.log.append(("closed",))

        async def reconcile(key):
            return None

        return ModuleParts(
            kinds=[KindModule(Box)],
            controllers=lambda env: [Controller("{name}", reconcile, ())],
            services={{"{name}": self}},
            close=close,
        )
"""

EARLY = """
from inkube.kinds import (
    Controller, Definition, FieldError, KindModule, Model, ModuleParts, Names, Resource,
    SchemaKind, Version, Watch,
)

class Stamp(Resource, group="stamps.example", version="v1"):
    pass

SCHEMA = {"type": "object", "properties": {"spec": {
    "type": "object", "properties": {"text": {"type": "string"}},
}}}

def judge(obj, old):
    if obj["spec"]["text"] == "bad":
        return [FieldError("FieldValueInvalid", "spec.text", "it is bad")]
    return []

class Stamps:
    groups = ("stamps.example",)
    needs = ()
    options = ()
    builds_at_start = True
    roles = ({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "stamps"},
        "rules": [{"apiGroups": ["stamps.example"], "resources": ["*"], "verbs": ["*"]}],
    },)

    def build(self, host):
        client = host.server.client_as("stamper")

        async def stamp(key):
            obj = await client.get("v1/configmaps", key.name, key.namespace)
            if obj.get("data") != {"stamped": "yes"}:
                await client.update({**obj, "data": {"stamped": "yes"}})

        host.manager.add(Controller("stamper", stamp, (Watch("v1/configmaps"),)))
        ink = Definition(
            "stamps.example", Names("inks", "Ink", "ink", "InkList"), (Version("v1", SCHEMA),)
        )
        return ModuleParts(
            kinds=[KindModule(Stamp)], schema_kinds=[SchemaKind(ink, judge)],
            services={"stamps": self},
        )
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install a package with one module in the same form as pip does."""
    monkeypatch.syspath_prepend(tmp_path)

    def installed(
        name: str,
        needs: tuple[str, ...] = (),
        *,
        source: str = "",
        value: str = "",
        group: str = "",
    ) -> None:
        text = SOURCE.format(name=name, needs=needs, group=group or f"{name}.example")
        (tmp_path / f"{name}_package.py").write_text(source or text)
        metadata = tmp_path / f"{name}_package-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Name: {name}-package\nVersion: 1.0\n")
        entry = value or f"{name}_package:Boxes"
        (metadata / "entry_points.txt").write_text(f"[inkube.modules]\n{name} = {entry}\n")

    return installed


async def test_modules_are_built_after_those_they_need_and_closed(install) -> None:
    install("outer", ("inner", "world"))
    install("inner")
    given = {"outer_size": "large"}
    options = Options(modules=["outer"], module_options=given, offline=True)
    assert options.module_names == ("world", "inner", "outer")
    async with APIServer(options) as server:
        assert (await server.client.list("outer.example/v1/boxes")).items == []
        assert {"outer.example", "inner.example"} <= {each.group for each in server.resources}
    module: Any = modules.installed.load("outer")
    assert module.log == [
        ("built", {"outer_size": "large"}, ["inner", "remotes"]),
        ("closed",),
    ]


async def test_a_module_that_is_built_at_the_start_works_on_kinds_of_others(install) -> None:
    install("early", source=EARLY, value="early_package:Stamps")
    install("late", ("early",))
    async with APIServer(modules=["late"]) as server, within():
        assert "stamper" in server.parts.core.manager.names
        client = server.client
        await client.create({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "default"},
        })  # fmt: skip
        await server.settled()
        assert (await client.get("v1/configmaps", "a", "default"))["data"] == {"stamped": "yes"}
        assert (await client.list("late.example/v1/boxes")).items == []
    module: Any = modules.installed.load("late")
    assert module.log[0] == ("built", {"late_size": "small"}, ["stamps"])


async def test_kinds_of_a_schema_have_their_static_rules(install) -> None:
    install("early", source=EARLY, value="early_package:Stamps")
    ink = {
        "apiVersion": "stamps.example/v1", "kind": "Ink",
        "metadata": {"name": "a", "namespace": "default"}, "spec": {"text": "good"},
    }  # fmt: skip
    async with APIServer(modules=["early"]) as server, within():
        await server.client.create(ink)
        bad = {**ink, "metadata": {**ink["metadata"], "name": "b"}, "spec": {"text": "bad"}}
        with pytest.raises(StatusError, match="it is bad"):
            await server.client.create(bad)
        assert (await server.client.list("stamps.example/v1/stamps")).items == []


@pytest.mark.parametrize(("mode", "found"), [("RBAC", 1), ("AlwaysAllow", 0)])
async def test_a_server_with_rbac_has_the_roles_of_modules(install, mode, found) -> None:
    install("early", source=EARLY, value="early_package:Stamps")
    async with APIServer(modules=["early"], authorization_mode=mode) as server:
        listed = await server.client.list("rbac.authorization.k8s.io/v1/clusterroles")
    assert sum(role["metadata"]["name"] == "stamps" for role in listed.items) == found


@pytest.mark.parametrize("given", ["workloads", "all,workloads"])
def test_the_module_of_an_option_is_not_named(given) -> None:
    with pytest.raises(BadOption, match="the option workloads selects the module workloads"):
        Options(modules=given)
    assert "workloads" not in Options(modules="all").module_names
    assert Options(workloads=True).start_modules == ("workloads",)


def test_all_modules_are_those_of_inkube_and_of_packages(install) -> None:
    install("crates")
    assert Options(modules="all").module_names == ("provisioning", "world", "porch", "crates")
    assert "crates" not in Options().module_names


@pytest.mark.parametrize("given", ["default,crates", ["default", "crates"], "none,default,crates"])
def test_sets_of_modules_stand_among_names(install, given) -> None:
    install("crates")
    assert Options(modules=given).module_names == ("provisioning", "world", "crates")


@pytest.mark.parametrize("options", [{}, {"module_options": {"coffers_size": "small"}}])
def test_an_unknown_module_is_a_bad_option(options) -> None:
    with pytest.raises(BadOption, match="there is no module 'coffers'") as raised:
        Options(modules="default,coffers", **options)
    assert raised.value.name == "modules"


def test_modules_that_need_each_other_are_refused(install) -> None:
    install("hen", ("egg",))
    install("egg", ("hen",))
    with pytest.raises(ValueError, match="modules need each other: hen → egg → hen"):
        _ = Options(modules=["hen"]).module_names


@pytest.mark.parametrize(
    ("name", "source", "value", "told"),
    [
        ("broken", "1 / 0", "", r"cannot be loaded from broken_package:Boxes: ZeroDivisionError"),
        ("absent", "", "absent_package:Nothing", r"cannot be loaded from .*AttributeError"),
        ("bare", "class Boxes:\n    groups = ()", "", r"has no needs, options, build; "),
    ],
)
def test_an_entry_point_that_is_no_module_names_the_mistake(
    install, name, source, value, told
) -> None:
    install(name, source=source, value=value)
    with pytest.raises(ValueError, match=told):
        _ = Options(modules=[name]).module_names


async def test_a_kind_of_a_group_that_is_not_declared_is_refused(install) -> None:
    install("stray", group="elsewhere.example")
    async with APIServer(modules=["stray"]) as server:
        with pytest.raises(ValueError, match="a group that it does not declare"):
            await server.client.list("elsewhere.example/v1/boxes")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"chests_depth": 1}, "no served module has this option; the options are chests_size"),
        ({"chests_size": "huge"}, "'huge' is not one of small, large"),
    ],
)
def test_options_that_no_module_has_are_refused(install, given, told) -> None:
    install("chests")
    with pytest.raises(BadOption, match=told):
        Options(modules=["chests"], module_options=given)


def test_a_module_that_cannot_be_loaded_does_not_break_help(install) -> None:
    install("torn", source="raise RuntimeError('torn apart')")
    done = CliRunner().invoke(main, ["serve", "--help"])
    assert done.exit_code == 0
    assert "torn, which cannot be loaded" in " ".join(done.stdout.split())
