from inkube.schemas.webhooks import conditions as conditions
from inkube.schemas.webhooks.matching import Hook as Hook
