"""A faster loop for connections, in place of aiohttp's: `Server`, for versions that `is_tested`.

It works on what aiohttp keeps to itself, so it serves only with versions with which the tests of
HTTP have passed on it (`versions`); with others, and where `Options.http` says `plain`, aiohttp's
own loop serves (`http.plain`). Everybody else sees the same requests and answers either way:
`webserver` alone knows of this room. What it saves is told in docs/performance.md.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
