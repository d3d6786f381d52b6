"""Field ownership: metadata.managedFields, typed values, their merge, server-side apply.

Inputs: an object before and after a write, its manager and a `typed.Versions` of its kind. Outputs:
new entries of managedFields, merged objects, or a conflict. `managedfields` tracks ordinary writes,
`apply` is server-side apply. The registry calls both. The room corresponds to
structured-merge-diff.
"""

from inkube.schemas.ownership import apply as apply
from inkube.schemas.ownership import managedfields as managedfields
from inkube.schemas.ownership import resetfields as resetfields
from inkube.schemas.ownership import scalefields as scalefields
from inkube.schemas.ownership.fieldsets import FieldSet as FieldSet
from inkube.schemas.ownership.listitems import UntypableError as UntypableError
from inkube.schemas.ownership.mergetypes import Type as Type
from inkube.schemas.ownership.typed import Steps as Steps
from inkube.schemas.ownership.typed import TypedSchema as TypedSchema
from inkube.schemas.ownership.typed import Versions as Versions
from inkube.schemas.ownership.typed import finished as finished
from inkube.schemas.ownership.typed import relabelled as relabelled
