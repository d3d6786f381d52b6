from inkube.apiserver.dumps.etcd.pages import Database as Database
from inkube.apiserver.dumps.etcd.pages import is_database as is_database
from inkube.apiserver.dumps.etcd.revisions import newest as newest
from inkube.apiserver.dumps.etcd.values import object_of as object_of
