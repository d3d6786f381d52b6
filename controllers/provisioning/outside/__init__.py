"""Who holds repositories: the scripted world, git servers, the APIs of providers, a directory.

In come a place, credentials and a question; out come an answer, files, or a refusal in the words of
`hosts`. It knows nothing of Repositories and Connections: their checks and jobs ask
`remotes.Remotes`, and `porch` keeps packages by the same git.

hosts                 what is asked of any host, and what its refusals mean
contents, urls        the files of a branch; the form of URLs, branches and paths
world, git            who answers: kinds anyone can edit, git servers
world_types, world_sessions    those kinds, and what they answer
github, gitlab, bitbucket, oauth, providers    and the APIs of providers, asked through `rest`
remotes               which of them is asked; `ssrf` guards the way out
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
