"""Dialogs and the form to sign in pass axe-core; `test_views` looks at the pages."""

from views import violations


def test_axe_finds_nothing_in_dialogs_and_the_form_to_sign_in(start, read, tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("letmein,ann,1\n")
    page = read(start(token_auth_file=tokens)).go()
    assert violations(page) == []
    page.get_by_label("Token").fill("letmein")
    page.keyboard.press("Enter")
    page.locator("#main h1").wait_for()
    for key in ("?", ":"):
        page.keyboard.press(key)
        page.get_by_role("dialog").wait_for()
        assert violations(page) == []
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
