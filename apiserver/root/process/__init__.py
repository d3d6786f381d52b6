"""A process that is a server and nothing else: its event loop, its memory, warnings at its start.

`cli` and the envtest binaries call it. What happens here concerns the whole process, so a server
that is embedded in a program of somebody else does none of it.
"""
