"""The generic registry: the one pipeline of every write, and reads of one store.

Read its modules in this order:

1. `requests`: what a client asked; `intake` accepts the object in its body.
2. `write`: one attempt to change an object, and what a change is.
3. `changes`, `patches`, `apply`, `scaling`: the kinds of change. `patched` accepts what a patch
   makes.
4. `create`, `update`, `delete`: the stages of a write, in order. `stages`, `ownership`,
   `preparation`, `admission`, `deletion`, `storedforms` and `commits` contain them.
5. `engine`: the loop that carries out a change, attempt after attempt.
6. `registry`: the door for handlers, subresources and the client in the process.

Beside them: `resources` is the table of served kinds, `listing` and `selections` read lists,
`conversions` fetches objects in other versions, and `failures` translates errors of storage. The
registry does not depend on HTTP, authorization or particular kinds: strategies prepare and validate
objects, wordings contain the texts of responses, admission plugins change or reject writes.
"""

from inkube.apiserver.registry import attributes as attributes
from inkube.apiserver.registry import changes as changes
from inkube.apiserver.registry import conversions as conversions
from inkube.apiserver.registry import failures as failures
from inkube.apiserver.registry import intake as intake
from inkube.apiserver.registry import keys as keys
from inkube.apiserver.registry import listing as listing
from inkube.apiserver.registry import ownership as ownership
from inkube.apiserver.registry import patches as patches
from inkube.apiserver.registry import scales as scales
from inkube.apiserver.registry import scaling as scaling
from inkube.apiserver.registry import selections as selections
from inkube.apiserver.registry import storedbytes as storedbytes
from inkube.apiserver.registry import versions as versions
from inkube.apiserver.registry.admission import Chain as Chain
from inkube.apiserver.registry.codec import JSONCodec as JSONCodec
from inkube.apiserver.registry.crds import Installer as Installer
from inkube.apiserver.registry.delegates import Delegate as Delegate
from inkube.apiserver.registry.engine.plain import MAX_ATTEMPTS as MAX_ATTEMPTS
from inkube.apiserver.registry.engine.plain import PlainEngine as PlainEngine
from inkube.apiserver.registry.intake import Sent as Sent
from inkube.apiserver.registry.lifetimes import Lifetime as Lifetime
from inkube.apiserver.registry.listing import Page as Page
from inkube.apiserver.registry.plugins import LatePlugin as LatePlugin
from inkube.apiserver.registry.plugins import OfStore as OfStore
from inkube.apiserver.registry.plugins import OnDemand as OnDemand
from inkube.apiserver.registry.plugins import Plugin as Plugin
from inkube.apiserver.registry.plugins import SideEffects as SideEffects
from inkube.apiserver.registry.plugins import refused as refused
from inkube.apiserver.registry.registry import Registry as Registry
from inkube.apiserver.registry.requests import ADMIN as ADMIN
from inkube.apiserver.registry.requests import HEAVY as HEAVY
from inkube.apiserver.registry.requests import NO_SELECTION as NO_SELECTION
from inkube.apiserver.registry.requests import Body as Body
from inkube.apiserver.registry.requests import DeleteOptions as DeleteOptions
from inkube.apiserver.registry.requests import ListOptions as ListOptions
from inkube.apiserver.registry.requests import Notes as Notes
from inkube.apiserver.registry.requests import Patch as Patch
from inkube.apiserver.registry.requests import Request as Request
from inkube.apiserver.registry.requests import User as User
from inkube.apiserver.registry.requests import WriteOptions as WriteOptions
from inkube.apiserver.registry.resource import Converter as Converter
from inkube.apiserver.registry.resource import Handler as Handler
from inkube.apiserver.registry.resource import Resource as Resource
from inkube.apiserver.registry.resources import DeferredKinds as DeferredKinds
from inkube.apiserver.registry.resources import LazyKinds as LazyKinds
from inkube.apiserver.registry.resources import Resources as Resources
from inkube.apiserver.registry.scales import SCALE as SCALE
from inkube.apiserver.registry.storecache import StoreCache as StoreCache
from inkube.apiserver.registry.storedbytes import may_be_bound as may_be_bound
from inkube.apiserver.registry.systemfields import SystemFields as SystemFields
from inkube.apiserver.registry.transactions import Transactor as Transactor
from inkube.apiserver.registry.write import Change as Change
from inkube.apiserver.registry.write import Effect as Effect
from inkube.apiserver.registry.write import Operation as Operation
from inkube.apiserver.registry.write import Outcome as Outcome
from inkube.apiserver.registry.write import Write as Write
