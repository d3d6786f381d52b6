"""Health checks: single ones, verbose output, and exclusions."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")


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


async def test_pages_for_people_are_plain_text(web):
    assert (await web.ask("GET", "/statusz", Accept="text/plain")).code == 200
    assert (await web.ask("GET", "/flagz", Accept="application/json")).code == 406
