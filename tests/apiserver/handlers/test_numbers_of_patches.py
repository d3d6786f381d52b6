"""Numbers of patches: upstream patches texts, which Go types decode."""

import pytest

MAPS = "/api/v1/namespaces/default/configmaps"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("number", ["1e3", "1E3", "10e-1", "12345678901234567890"])
@pytest.mark.parametrize("kind", ["json", "merge"])
async def test_a_refused_patch_shows_numbers_as_it_writes_them(web, kind, number):
    await web.ask("POST", MAPS, {"metadata": {"name": "numbers"}, "data": {"a": "b"}})
    body = f'[{{"op":"add","path":"/data/x","value":{number}}}]'
    if kind == "merge":
        body = f'{{"data":{{"x":{number}}}}}'
    answer = await web.ask(
        "PATCH", f"{MAPS}/numbers", body.encode(), Content_Type=f"application/{kind}-patch+json"
    )
    assert answer.code == 422
    assert f'\\"x\\":{number}' in answer.json["message"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_quantity_of_a_patch_keeps_its_text(web):
    await web.ask("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
    body = b'{"spec":{"hard":{"pods":1e3}}}'
    kind = "application/merge-patch+json"
    answer = await web.ask("PATCH", f"{QUOTAS}/q", body, Content_Type=kind)
    assert answer.json["spec"]["hard"]["pods"] == "1e3"
