"""Hosts of repositories: the scripted world, git servers, the APIs of providers, a directory.

Input: a location, credentials and a request. Output: a response, files, or an error of `hosts`.
This room does not depend on Repositories and Connections: their checks and jobs call
`remotes.Remotes`, and `porch` stores packages with the same git client.

  hosts                 the requests to any host, and the meaning of its errors
  contents, urls        the files of a branch; the syntax of URLs, branches and paths
  world, git            sources of responses: kinds that any client can edit, git servers
  world_types, world_sessions    those kinds, and the responses from them
  github, gitlab, bitbucket, oauth, providers    the APIs of providers, called through `rest`
  remotes               selects one of them; `ssrf` guards outgoing connections
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
