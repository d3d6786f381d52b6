from inkube.schemas.ownership import managedfields as managedfields
from inkube.schemas.ownership import resetfields as resetfields
from inkube.schemas.ownership.fieldsets import FieldSet as FieldSet
from inkube.schemas.ownership.listitems import UntypableError as UntypableError
from inkube.schemas.ownership.mergetypes import Type as Type
from inkube.schemas.ownership.typed import TypedSchema as TypedSchema
