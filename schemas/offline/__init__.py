"""Validation without a server: the findings that a server would have for documents.

Input: `documents.Document`s. Output: `Finding`s. `apiserver.validate` reads the files and calls
this room, which does no I/O.

    findings     a finding: code, severity, place
    reading      documents to objects: Lists, ignore comments
    foreign      schemas of catalogues and of OpenAPI documents
    kinds        the kinds that objects are checked against
    checks       one object against its kind: decoding, rules, warnings
    mistakes     every value of a wrong type, not only the first
    scopes       kinds that cannot be created, and namespaces where none belongs
    unmatched    why no kind matches: removed versions, misspellings
    repeated     objects with the same name
    references   names that no object of the set has
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
