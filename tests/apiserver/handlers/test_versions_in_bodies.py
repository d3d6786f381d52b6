"""The apiVersion of a body as Go parses it: odd slashes and missing parts."""

import pytest

from inkube.schemas.meta import canonical_api_version

pytestmark = pytest.mark.asyncio(loop_scope="module")
MAPS = ("/api/v1/namespaces/default/configmaps", "ConfigMap", "", "v1")
DEPLOYMENTS = ("/apis/apps/v1/namespaces/default/deployments", "Deployment", "apps", "apps/v1")
BOATS = ("/apis/example.com/v1/namespaces/default/boats", "Boat", "example.com", "example.com/v1")
ODD = ["", "/", "v1", "/v1", "apps/", "other/", "apps/v1", "/v9", "a/b/c", "//v1", "apps/v1/"]


@pytest.mark.parametrize("version", ODD)
@pytest.mark.parametrize("kind", [MAPS, DEPLOYMENTS], ids=["core", "apps"])
async def test_the_version_of_a_typed_body_is_optional_but_must_match_its_path(web, kind, version):
    path, name, group, expected = kind
    body = {"apiVersion": version, "kind": name, "metadata": {"name": "x"}}
    answer = await web.ask("POST", f"{path}?dryRun=All", body)
    parsed, _, short = version.removeprefix("/").rpartition("/")
    if version.count("/") > 1:
        assert answer.json["message"].startswith("the object provided is unrecognized")
    elif version in ("", "/", expected, f"/{expected}") or (not short and parsed == group):
        assert answer.code == (422 if group else 201), "a Deployment lacks members"
    elif not short:
        assert (
            f"{name} in version \"\" cannot be handled as a {name}: Object 'apiVersion' is "
            in (answer.json["message"])
        )
    else:
        why = f'no kind "{name}" is registered for version "{canonical_api_version(version)}"'
        assert why in answer.json["message"]


@pytest.mark.parametrize("version", ODD)
async def test_an_error_about_another_version_shows_it_as_go_prints_it(web, version):
    path, name, _, expected = BOATS
    body = {"apiVersion": version, "kind": name, "metadata": {"name": "x"}}
    answer = await web.ask("POST", f"{path}?dryRun=All", body)
    shown = canonical_api_version(version)
    assert answer.code == 400
    if version.count("/") > 1:
        assert answer.json["message"].startswith("the object provided is unrecognized")
    else:
        assert (
            f"data ({shown}) does not match the expected API version ({expected})"
            in (answer.json["message"])
        )


@pytest.mark.parametrize("version", ODD)
async def test_an_apply_is_of_the_version_that_its_text_parses_to(web, version):
    path, name, _, expected = MAPS
    body = {"apiVersion": version, "kind": name, "metadata": {"name": f"a{ODD.index(version)}"}}
    answer = await web.patch(f"{path}/a{ODD.index(version)}?fieldManager=m", body, "apply")
    shown = canonical_api_version(version)
    if shown == expected:
        assert (answer.code, answer.json["apiVersion"]) == (201, expected)
    elif version.count("/") > 1:
        assert answer.json["message"] == "invalid object type: /, Kind="
    else:
        assert answer.json["message"].startswith("invalid object type: ")
        assert answer.json["message"].endswith(f"{shown}, Kind={name}")
