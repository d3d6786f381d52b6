"""The web console: its page, the finished requests of the server, and its newest changes.

Input: a request for `/console/…`, `/debug/requests` or `/debug/activity`. Output: a file, a stream
of events, or a document. `app` calls them by path, and `root.serving` creates them at the first
request. Everything else on the page comes from the ordinary API, with the permissions of the
signed-in user. Nothing here is loaded before the first request.

    pages       path → a file below `assets`, with its type, its ETag and a strict policy
    bundle      the modules of the page → one script
    report      the page and the state of a server → one file that needs no server
    activity    the newest changes and the open watches
    requestlog  finished requests → audit events, kept while a client listens
    assets/     the page: ES modules, a style sheet, and the libraries in `vendor`
"""

from inkube.schemas import lazy

ROOT = "/console/"
"""The prefix of the paths of the page, which are served without authentication."""

__getattr__ = lazy.exports(__name__)
