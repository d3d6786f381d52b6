"""Repositories of packages in git: opened, looked through, committed to, pushed to.

In come Repositories and files, out come refs, commits and what lies where. Git's own work blocks,
so `depots` has it done beside the event loop. `writes` and `sync` call it.
"""
