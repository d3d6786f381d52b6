from inkube.schemas.patch.json import JSONPatchFailure as JSONPatchFailure
from inkube.schemas.patch.json import PatchTestFailure as PatchTestFailure
from inkube.schemas.patch.json import apply_json_patch as apply_json_patch
from inkube.schemas.patch.mergepatch import merge as merge
from inkube.schemas.patch.strategicpatch import remainder as remainder
from inkube.schemas.patch.strategicpatch import strategic as strategic
