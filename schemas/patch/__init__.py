"""Patches of plain JSON objects: JSON patch, merge patch and strategic merge patch.

All three return a new object and do not change their inputs. They raise a StatusError with the code
and text of kube-apiserver (apiserver/pkg/endpoints/handlers/patch.go).
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
