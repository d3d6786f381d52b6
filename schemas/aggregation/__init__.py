"""APIServices as values: the server of each group version, their order and their availability.

The functions take an APIService or a document of an aggregated API server, and return a
`Registration`, a condition or a discovery document. The rules of the built-in kind, the
availability controller and the room of apiserver that forwards requests use them. Follows
kube-aggregator/pkg/apis/apiregistration.
"""

from inkube.schemas.aggregation import availability as availability
from inkube.schemas.aggregation import discovery as discovery
from inkube.schemas.aggregation import registrations as registrations
from inkube.schemas.aggregation.availability import Finding as Finding
from inkube.schemas.aggregation.registrations import MANAGED as MANAGED
from inkube.schemas.aggregation.registrations import URL as URL
from inkube.schemas.aggregation.registrations import Registration as Registration
