"""What a server says of itself: groups and resources, OpenAPI, health, version, metrics, issuer.

Endpoints in the sense of `app`: a request in, a response out, made from the live table of
resources.
"""
