"""Health checks: single ones, verbose output, and exclusions."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
PAGE = "application/{};g=config.k8s.io;v={};as={}"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/livez/etcd", 200),
        ("/readyz/etcd", 404),
        ("/readyz/shutdown", 200),
        ("/livez/shutdown", 404),
        ("/healthz/poststarthook/rbac/bootstrap-roles", 200),
        ("/healthz/", 404),
    ],
)
async def test_each_path_has_checks_of_its_own(web, path, code):
    assert (await web.ask("GET", path)).code == code


async def test_excluded_checks_are_named_in_verbose_output(web):
    text = (await web.ask("GET", "/livez?verbose&exclude=etcd&exclude=none")).body.decode()
    assert "[+]etcd excluded: ok\n" in text
    assert 'cannot be excluded: no matches for "none"' in text


async def test_checks_are_counted(web):
    await web.ask("GET", "/readyz/ping")
    text = (await web.ask("GET", "/metrics/slis")).body.decode()
    assert 'kubernetes_healthcheck{name="ping",type="readyz"} 1' in text
    assert 'kubernetes_healthchecks_total{name="ping",status="success",type="readyz"}' in text


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("*/*", "text/plain; charset=utf-8"),
        ("application/json;v=foo;g=config.k8s.io;as=Flagz,text/*", "text/plain; charset=utf-8"),
        ("application/json", None),
        ("application/json;v=v1beta1;g=config.k8s.io", None),
        ("application/xml", None),
        (PAGE.format("json", "v1beta1", "Flagz"), PAGE.format("json", "v1beta1", "Flagz")),
        (PAGE.format("yaml", "v1alpha1", "Flagz"), PAGE.format("yaml", "v1alpha1", "Flagz")),
        (PAGE.format("json", "v1beta1", "Statusz"), None),
    ],
)
async def test_pages_have_the_first_form_that_there_is(web, accept, media):
    """component-base/zpages: the answers of 1.36.2."""
    answer = await web.ask("GET", "/flagz", Accept=accept)
    assert answer.code == (406 if media is None else 200)
    if media is None:
        accepted = "application/json, application/yaml, text/plain"
        text = f"only the following media types are accepted: {accepted}"
        assert answer.json["message"] == text
    else:
        assert answer.headers["Content-Type"] == media
        assert ("deprecated" in answer.headers.get("Warning", "")) is ("v1alpha1" in media)


async def test_pages_show_options_and_age(web):
    flags = (await web.ask("GET", "/flagz", Accept=PAGE.format("json", "v1beta1", "Flagz"))).json
    assert (flags["kind"], flags["metadata"]) == ("Flagz", {"name": "apiserver"})
    assert flags["flags"]["authorization-mode"] == "AlwaysAllow"
    text = (await web.ask("GET", "/flagz")).body.decode()
    assert text.startswith("\napiserver flagz\nWarning: This endpoint is not meant")
    assert "\nauthorization-mode: AlwaysAllow\n" in text
    accept = PAGE.format("json", "v1beta1", "Statusz")
    status = (await web.ask("GET", "/statusz", Accept=accept)).json
    assert (status["kind"], status["binaryVersion"]) == ("Statusz", "1.36")
    assert 0 <= status["uptimeSeconds"] < 3600
    assert "\nUp: 0 hr " in (await web.ask("GET", "/statusz")).body.decode()
