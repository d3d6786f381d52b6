"""What the server gives to objects: uids, names, times."""

import uuid

from inkube.apiserver.identity import Identity


def test_uids_are_random_uuids_as_everybody_reads_them() -> None:
    identity = Identity()
    found = [identity.uid() for _ in range(1000)]

    assert len({*found}) == 1000
    assert all(str(uuid.UUID(text)) == text for text in found)
    assert {uuid.UUID(text).version for text in found} == {4}
    assert {uuid.UUID(text).variant for text in found} == {uuid.RFC_4122}
