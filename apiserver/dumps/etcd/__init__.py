"""Reads etcd snapshots: the file that `etcdctl snapshot save` writes, or `member/snap/db`.

    pages       the pages of a bbolt file, and the entries of a bucket
    revisions   etcd's keys: the newest state of each
    values      what kube-apiserver stores: JSON and protobuf as objects, encrypted values by name

Input: a seekable file. Output: objects with their resource versions. `readers` calls it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
