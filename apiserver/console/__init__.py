"""The web console: the files of its page, and the requests of the server as they are answered.

A request for `/console/…` or `/debug/requests` comes in, a file or a stream of events leaves; `app`
calls them by path, and `root.serving` has them made when they are first asked for. All else that
the page shows it reads from the ordinary API, with the rights of whoever signed in. Nothing here is
loaded before somebody asks.

    pages       path → a file below `assets`, with its type, its ETag and a strict policy
    bundle      the modules of the page → one script
    requestlog  finished requests → audit events, kept while somebody listens
    assets/     the page: ES modules, a style sheet, and the libraries in `vendor`
"""

from inkube.schemas import lazy

ROOT = "/console/"
"""What the paths of the page begin with; anybody may read them."""

__getattr__ = lazy.exports(__name__)
