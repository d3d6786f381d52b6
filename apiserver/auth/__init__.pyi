from cryptography import x509 as x509
from cryptography.fernet import Fernet as Fernet
from cryptography.x509.oid import NameOID as NameOID

from inkube.apiserver.auth import certificates as certificates
from inkube.apiserver.auth import frontproxy as frontproxy
from inkube.apiserver.auth import signers as signers
from inkube.apiserver.auth import signing as signing
from inkube.apiserver.auth.celauthorizer import ResourceCheck as ResourceCheck
from inkube.apiserver.auth.celauthorizer import UserAuthorizer as UserAuthorizer
from inkube.apiserver.auth.rbac import RBAC as RBAC
from inkube.apiserver.auth.tokenfiles import read_tokens as read_tokens
