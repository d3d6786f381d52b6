from inkube.apiserver.auth.signatures import pemkeys as pemkeys
from inkube.apiserver.auth.signatures import signing as signing
