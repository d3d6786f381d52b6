"""`inkube validate` without its command line: files to findings, and findings to reports.

Input: paths and a `Plan`. Output: a `Result`, and its text in one of several formats. `commands`
calls this room, and `schemas.offline` contains the checks.

    plan         what to check, and how
    settings     settings that a project keeps in a file
    files        paths to files
    recognised   files that are no manifests: kustomizations, charts, values
    definitions  CRDs and schemas from files, folders, servers
    checking     the documents of a file to findings
    judging      a server in this process that judges objects: admission, tests of policies
    running      all files, in one process or in several
    printable    findings that a terminal can show
    reports      findings as text, JSON, JUnit, TAP, SARIF, annotations
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
