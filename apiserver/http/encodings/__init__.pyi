from inkube.apiserver.http.encodings import compression as compression
from inkube.apiserver.http.encodings import yamls as yamls
