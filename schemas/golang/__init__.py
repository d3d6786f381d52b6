"""Go's parsing and formatting of JSON, YAML, times, numbers, URLs, addresses, regular expressions.

Input is bytes and texts of clients. Output is plain values of Python, or an error with Go's text.
The code depends only on the language Go, not on Kubernetes, its objects or a server. All code that
must respond like a program in Go uses it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
