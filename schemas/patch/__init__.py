"""Patches of plain JSON objects: JSON patch, merge patch and strategic merge patch.

All three leave their inputs alone and answer a new object. A refusal is a StatusError with the code
and text kube-apiserver answers (apiserver/pkg/endpoints/handlers/patch.go).
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
