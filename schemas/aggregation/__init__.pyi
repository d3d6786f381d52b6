from inkube.schemas.aggregation import availability as availability
from inkube.schemas.aggregation import discovery as discovery
from inkube.schemas.aggregation import marks as marks
from inkube.schemas.aggregation import priorities as priorities
from inkube.schemas.aggregation import registrations as registrations
from inkube.schemas.aggregation.availability import Finding as Finding
from inkube.schemas.aggregation.marks import MANAGED as MANAGED
from inkube.schemas.aggregation.registrations import Registration as Registration
