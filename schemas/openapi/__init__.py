"""OpenAPI documents of served kinds: version 3 per group and version, version 2 as JSON and protobuf.

In come definitions, out come documents as plain JSON. `apiserver.discovery.groups` serves and keeps them.
"""
