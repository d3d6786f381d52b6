"""Files of CRDs and objects: how they are read, created, and applied again when they change.

Input: files, folders or objects, and a client in the process. Output: stored objects, or a
`ManifestError` with the file and the document. `root.lifespan` loads the definitions of the
options, `testing` and `explore` those of a test.

    manifests        reads sources, creates or applies their objects
    editedfiles      detects changes of files
    definitionfiles  applies changed files while a server runs
    pruning          decides which objects that left the files are deleted
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
