"""The addresses that Go's mail.ParseAddress accepts, such as `Jane <jane@example.com>`."""

import re

_ATEXT = re.compile(r'[^()<>\[\]:;@\\,"\x00-\x20\x7f]*')
_QUOTED_TEXT = re.compile(r'[^"\\\x00-\x08\x0a-\x1f\x7f]*')
_COMMENT_TEXT = re.compile(r"[^()\\]*")


class _Malformed(Exception):
    """The text is not an address."""


def is_address(text: str) -> bool:
    """Return whether mail.ParseAddress(text) finds exactly one address."""
    try:
        parser = _Parser(text)
        parser.mailbox()
        parser.skip_comments()
    except _Malformed:
        return False
    return parser.at_end()


class _Parser:
    """A parser of RFC 5322 addresses that follows net/mail."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def at_end(self) -> bool:
        """Return whether the whole text is read."""
        return self._at >= len(self._text)

    def mailbox(self, *, or_group: bool = True) -> None:
        """Read an addr-spec, a display name and `<addr-spec>`, or a group of one address."""
        self._spaces()
        start = self._at
        try:
            self._addr_spec()
        except _Malformed:
            self._at = start
        else:
            self._spaces()
            return
        if self._peek() != "<":
            self._phrase()
        self._spaces()
        if or_group and self._take(":"):
            self._group()
            return
        self._expect("<")
        self._addr_spec()
        self._expect(">")

    def skip_comments(self) -> None:
        """Skip spaces and `(comments)`."""
        self._spaces()
        while self._take("("):
            self._comment()
            self._spaces()

    def _group(self) -> None:
        self.skip_comments()
        if self._peek() == ";":
            raise _Malformed  # an empty group
        self.mailbox(or_group=False)
        self.skip_comments()
        self._expect(";")

    def _addr_spec(self) -> None:
        self._spaces()
        if self._peek() == '"':
            if not self._quoted():
                raise _Malformed
        else:
            self._atom(strict=True)
        self._expect("@")
        self._spaces()
        if self._peek() == "[":
            self._domain_literal()
        else:
            self._atom(strict=True)

    def _phrase(self) -> None:
        words = 0
        while True:
            self._spaces()
            start = self._at
            try:
                if self._peek() == '"':
                    self._quoted()
                else:
                    self._atom(strict=False)
            except _Malformed:
                self._at = start
                break
            words += 1
        if not words:
            raise _Malformed

    def _atom(self, *, strict: bool) -> None:
        atom = self._skip(_ATEXT)
        if not atom or (strict and (atom[0] == "." or atom[-1] == "." or ".." in atom)):
            raise _Malformed

    def _quoted(self) -> str:
        self._expect('"')
        start = self._at
        self._skip(_QUOTED_TEXT)
        while self._peek() != '"':
            self._expect("\\")
            char = self._peek()
            if not char or (char < " " and char != "\t") or char == "\x7f":
                raise _Malformed
            self._at += 1
            self._skip(_QUOTED_TEXT)
        self._at += 1
        return self._text[start : self._at - 1]

    def _comment(self) -> None:
        depth = 1
        while depth:
            self._skip(_COMMENT_TEXT)
            char = self._peek()
            if not char:
                raise _Malformed
            self._at += 2 if char == "\\" else 1
            depth += (char == "(") - (char == ")")

    def _skip(self, pattern: "re.Pattern[str]") -> str:
        match = pattern.match(self._text, self._at)
        assert match is not None  # the patterns match the empty text
        self._at = match.end()
        return match[0]

    def _domain_literal(self) -> None:
        end = self._text.find("]", self._at)
        inside = self._text[self._at + 1 : end]
        if end < 0 or not inside or any(not "!" <= char <= "~" for char in inside):
            raise _Malformed
        self._at = end + 1

    def _spaces(self) -> None:
        while self._peek() in {" ", "\t"}:
            self._at += 1

    def _peek(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _take(self, char: str) -> bool:
        if self._peek() != char:
            return False
        self._at += 1
        return True

    def _expect(self, char: str) -> None:
        if not self._take(char):
            raise _Malformed
