"""What a server's store stands on: memory, a file, a database, a moment or a recording of one.

In come options, out comes a log to open a store on, and what plays on top of it. `lifespan` asks
`foundation`; snapshots, replays and moments of the past are loaded where they are asked for.
"""
