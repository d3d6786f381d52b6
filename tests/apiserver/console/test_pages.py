"""The files of the console: complete, public, and with a strict Content-Security-Policy."""

import graphlib
import gzip
import re
from pathlib import Path

import pytest
from yarl import URL

from inkube import APIServer
from inkube.apiserver.console.bundle import bundle
from inkube.apiserver.console.pages import FOLDER

pytestmark = pytest.mark.asyncio(loop_scope="module")
MOST_BYTES = 150_000
IMPORTS = re.compile(r'(?:from|import\()\s*"(\.[^"]+)"')


async def test_the_page_runs_only_what_the_server_sends(web):
    answer = await web.ask("GET", "/console/")
    assert answer.code == 200
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_the_page_has_no_script_and_no_style_of_its_own(web):
    text = (await web.ask("GET", "/console/")).body.decode()
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", text) == []


def _files():
    return [path for path in FOLDER.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg")]


@pytest.mark.parametrize("path", _files(), ids=lambda path: path.relative_to(FOLDER).as_posix())
async def test_no_file_names_another_server(path):
    text = path.read_text("utf-8")
    if path.parent.name == "vendor":
        return  # comments of libraries contain URLs; the policy forbids requests to them
    found = re.findall(r"""["'(`](?:https?:)?//[^"'`)\s]+""", text)
    assert [each for each in found if "www.w3.org" not in each] == []


async def test_everything_a_module_imports_is_served(web):
    for path in FOLDER.rglob("*.js"):
        for name in IMPORTS.findall(path.read_text("utf-8")):
            base = URL(f"http://localhost/console/{path.relative_to(FOLDER).as_posix()}")
            assert (await web.ask("GET", base.join(URL(name)).path)).code == 200, (path, name)


async def test_all_files_together_are_small():
    assert sum(len(gzip.compress(path.read_bytes())) for path in _files()) < MOST_BYTES


async def test_the_page_loads_its_modules_as_one_script(web):
    page = (await web.ask("GET", "/console/")).body.decode()
    assert re.findall(r'<script[^>]*src="([^"]+)"', page) == ["theme.js", "console.js"]
    answer = await web.ask("GET", "/console/console.js")
    text = answer.body.decode()
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert re.findall(r"^(?:import|export)\b", text, re.MULTILINE) == []
    for path in FOLDER.rglob("*.js"):
        name = path.relative_to(FOLDER).as_posix()
        assert (f'modules["{name}"] = ' in text) is (
            name not in ("main.js", "recorded.js", "theme.js")
        ), name


async def test_modules_that_import_each_other_are_refused():
    with pytest.raises(graphlib.CycleError):
        bundle({
            "main.js": 'import { a } from "./a.js";',
            "a.js": 'import { b } from "./b.js";\nexport const a = 1;',
            "b.js": 'import { a } from "./a.js";\nexport const b = 1;',
        })  # fmt: skip


async def test_libraries_come_with_their_licences():
    text = (FOLDER / "vendor/LICENSES.txt").read_text("utf-8")
    for path in (FOLDER / "vendor").glob("*.js"):
        assert path.name in text


async def test_a_file_that_did_not_change_is_not_sent_again(web):
    first = await web.ask("GET", "/console/main.js")
    again = await web.ask("GET", "/console/main.js", If_None_Match=first.headers["ETag"])
    assert (again.code, again.body) == (304, b"")


async def test_a_file_is_packed_for_who_can_unpack_it(web):
    plain = await web.ask("GET", "/console/style.css", Accept_Encoding="identity")
    assert "Content-Encoding" not in plain.headers
    packed = await web.ask("GET", "/console/style.css", Accept_Encoding="gzip")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.body == plain.body  # the client decompressed it
    assert int(packed.headers["Content-Length"]) < len(plain.body) / 2


async def test_a_changed_file_is_read_again(tmp_path):
    from inkube.apiserver.console.pages import Pages

    file = tmp_path / "a.js"
    file.write_text("1")
    pages = Pages(tmp_path)
    before = pages._file("a.js")
    file.write_text("22")
    assert (pages._file("a.js").content, before.content) == (b"22", b"1")


@pytest.mark.parametrize(
    "path", ["/console/none.js", "/console/../pages.py", "/console/%2e%2e/pages.py", "/console/.."]
)
async def test_unknown_paths_of_the_console_are_not_found(web, path):
    assert (await web.ask("GET", path)).code in (403, 404)


async def test_the_short_path_leads_to_the_page(web):
    assert (await web.ask("GET", "/console")).body.startswith(b"<!doctype html>")


async def test_pages_are_only_read(web):
    assert (await web.ask("POST", "/console/", {})).code == 405


async def test_users_without_a_token_get_the_page_and_nothing_else(tmp_path, web_of):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("letmein,ann,1\n")
    for mode in ("AlwaysAllow", "RBAC"):
        async with (
            APIServer(token_auth_file=tokens, authorization_mode=mode) as server,
            web_of(server) as web,
        ):
            assert (await web.ask("GET", "/console/")).code == 200
            assert (await web.ask("GET", "/debug/requests")).code in (401, 403)


async def test_a_page_of_another_name_is_refused_where_everybody_is_the_administrator(web):
    assert (await web.ask("GET", "/console/", Host="evil.example")).code == 403


async def test_the_vendor_script_names_every_library():
    script = (Path(__file__).parents[3] / "tools/vendor_console.py").read_text()
    for path in (FOLDER / "vendor").glob("*.js"):
        assert f'"{path.name}"' in script
