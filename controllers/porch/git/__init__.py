"""Git repositories of packages: open, read, commit, push.

Input: Repositories and files. Output: refs, commits, and the packages in a repository. Git
operations block, so `depots` runs them in threads. `writes` and `sync` call this room.
"""
