"""The form in which an object is stored: in the storage version, with numbers as Go writes them,
and not larger than etcd allows.
"""

import orjson

from inkube.apiserver.registry import conversions
from inkube.apiserver.registry.resource import Resource
from inkube.apiserver.registry.write import Write
from inkube.schemas import status
from inkube.schemas.builtin import protobuf
from inkube.schemas.golang import gojson
from inkube.schemas.objects import Object

MAX_OBJECT = 1_572_864  # bytes: etcd's default limit of requests, as in the reference
_MAX_MESSAGE = 2_097_152  # bytes that a client of etcd sends at most


async def of(write: Write, obj: Object) -> Object:
    """Return the object of a write in the storage version. Raises StatusError 500 if it is larger
    than MAX_OBJECT."""
    resource = write.request.resource
    if resource.converter is None:
        return await write.run(_to_be_stored, write, obj)
    size = _settle_numbers(obj)
    stored = await conversions.to_storage(resource, obj)
    if write.change.sets_undeclared:
        resource.storage.fit(stored)
    return _fitting(write, stored, obj, size)


def _to_be_stored(write: Write, obj: Object) -> Object:
    size = _settle_numbers(obj)
    resource = write.request.resource
    stored = conversions.to_storage_at_once(resource, obj)
    is_older = write.entry is not None and write.entry.revision <= resource.since
    if is_older or write.change.sets_undeclared:
        resource.storage.fit(stored)  # parts of the stored object can come from another schema
    return _fitting(write, stored, obj, size)


def _settle_numbers(obj: Object) -> int:
    """Replace whole floats by integers, as Go writes them (`gojson.settle_numbers`). Returns the
    size of the object's JSON before that, in bytes."""
    data = orjson.dumps(obj)
    if gojson.may_hold_floats(data):
        gojson.settle_numbers(obj)
    return len(data)


def _fitting(write: Write, stored: Object, obj: Object, size: int) -> Object:
    """Return the stored form. `size` is the bytes of `obj`.

    If it is larger than MAX_OBJECT only because of its managedFields, both objects lose them unless
    the write keeps them, as in handlers/{create,update,patch}.go (isTooLargeError). Raises
    StatusError 500 if it is too large.
    """
    resource = write.request.resource
    if stored is not obj:
        size = len(orjson.dumps(stored))
    if size <= MAX_OBJECT or _size_in_etcd(resource, stored) <= MAX_OBJECT:
        return stored
    if not write.change.keeps_owners:
        for each in (stored, obj):
            each["metadata"].pop("managedFields", None)
    size = _size_in_etcd(resource, stored)
    if write.change.keeps_owners or size > MAX_OBJECT:
        raise status.unknown(_refusal(size))
    return stored


def _refusal(size: int) -> str:
    """Return the error of etcd, or that of its client, which does not send larger messages."""
    if size <= _MAX_MESSAGE:
        return "etcdserver: request is too large"
    larger = f"trying to send message larger than max ({size} vs. {_MAX_MESSAGE})"
    return f"rpc error: code = ResourceExhausted desc = {larger}"


def _size_in_etcd(resource: Resource, stored: Object) -> int:
    """Return the bytes that the reference's etcd stores: a protobuf message for Go types, whose
    texts are not escaped, else JSON."""
    if resource.wording.has_messages:
        return len(protobuf.envelopes.encode_envelope(stored))
    return len(orjson.dumps(stored))
