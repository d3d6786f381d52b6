"""A faster loop for connections, in place of aiohttp's: `Server`, for versions that `is_tested`.

It uses private names of aiohttp, so it serves only with versions for which the tests of HTTP have
passed with it (`versions`). With other versions, and if `Options.http` is `plain`, aiohttp's own
loop serves (`http.plain`). Requests and responses are the same with both loops, and only
`webserver` uses this room. docs/performance.md shows the gain.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
