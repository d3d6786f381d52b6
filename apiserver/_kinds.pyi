# The kind
from inkube.controllers.kinds import Guard as Guard
from inkube.controllers.kinds import KindModule as KindModule
from inkube.controllers.kinds import Reconciler as Reconciler

# Modules: kinds that a package adds to every server
from inkube.controllers.modules import Counts as Counts
from inkube.controllers.modules import Module as Module
from inkube.controllers.modules import ModuleHost as ModuleHost
from inkube.controllers.modules import ModuleOption as ModuleOption
from inkube.controllers.modules import ModuleParts as ModuleParts
from inkube.controllers.modules import PodRunner as PodRunner
from inkube.controllers.modules import SchemaKind as SchemaKind
from inkube.controllers.modules import ServerAccess as ServerAccess
from inkube.schemas.options import option as option
from inkube.schemas.options import options_of as options_of

# Models
from inkube.schemas.definitions import Column as Column
from inkube.schemas.definitions import Definition as Definition
from inkube.schemas.definitions import Names as Names
from inkube.schemas.definitions import Origin as Origin
from inkube.schemas.definitions import Scale as Scale
from inkube.schemas.definitions import SelectableField as SelectableField
from inkube.schemas.definitions import Version as Version
from inkube.schemas.models import Condition as Condition
from inkube.schemas.models import FieldErrorItem as FieldErrorItem
from inkube.schemas.models import Health as Health
from inkube.schemas.models import Model as Model
from inkube.schemas.models import ObjectMeta as ObjectMeta
from inkube.schemas.models import OwnerReference as OwnerReference
from inkube.schemas.models import Resource as Resource
from inkube.schemas.models import Status as Status
from inkube.schemas.models import Unread as Unread
from inkube.schemas.models import Unreadable as Unreadable
from inkube.schemas.models import dump as dump
from inkube.schemas.models import parse as parse
from inkube.schemas.models import to_crd as to_crd

# Rules and live checks
from inkube.controllers.checks import NEVER as NEVER
from inkube.controllers.checks import Check as Check
from inkube.controllers.checks import Duplicate as Duplicate
from inkube.controllers.checks import Finding as Finding
from inkube.controllers.checks import Forbidden as Forbidden
from inkube.controllers.checks import InternalError as InternalError
from inkube.controllers.checks import Invalid as Invalid
from inkube.controllers.checks import NotFound as NotFound
from inkube.controllers.checks import NotSupported as NotSupported
from inkube.controllers.checks import OutsideError as OutsideError
from inkube.controllers.checks import Problem as Problem
from inkube.controllers.checks import Report as Report
from inkube.controllers.checks import Required as Required
from inkube.controllers.checks import Retry as Retry
from inkube.controllers.checks import Rule as Rule
from inkube.controllers.checks import Run as Run
from inkube.controllers.checks import Secrets as Secrets
from inkube.controllers.checks import TooMany as TooMany
from inkube.controllers.checks import Unavailable as Unavailable
from inkube.controllers.checks import Unreachable as Unreachable
from inkube.controllers.checks import check as check
from inkube.controllers.checks import mutator as mutator
from inkube.controllers.checks import validator as validator
from inkube.controllers.checks import HEALTH as HEALTH
from inkube.controllers.checks import SERVICE_UNAVAILABLE as SERVICE_UNAVAILABLE
from inkube.controllers.checks import conditions as conditions
from inkube.controllers.checks import reason_of as reason_of
from inkube.schemas.fielderrors import FieldError as FieldError

# Controllers
from inkube.schemas.clock import Clock as Clock
from inkube.controllers.environment import Environment as Environment
from inkube.controllers.environment import Memo as Memo
from inkube.controllers.environment import Recheck as Recheck
from inkube.controllers.environment import Service as Service
from inkube.controllers.events import Recorder as Recorder
from inkube.controllers.eventseries import SeriesRecorder as SeriesRecorder
from inkube.controllers.informer import Change as Change
from inkube.controllers.informer import Index as Index
from inkube.controllers.informer import Informer as Informer
from inkube.controllers.informer import Key as Key
from inkube.controllers.manager import Controller as Controller
from inkube.controllers.manager import Manager as Manager
from inkube.controllers.manager import Reconcile as Reconcile
from inkube.controllers.manager import Result as Result
from inkube.controllers.manager import Source as Source
from inkube.controllers.manager import Watch as Watch
from inkube.controllers.work import FINAL as FINAL
from inkube.controllers.work import Progress as Progress
from inkube.controllers.work import Work as Work
from inkube.controllers.workqueue import Backoff as Backoff

# Finalizers
from inkube.controllers.finalizers import CannotFinish as CannotFinish
from inkube.controllers.finalizers import Finalizer as Finalizer
from inkube.controllers.finalizers import Finalizers as Finalizers

# Addresses beside the object's own
from inkube.controllers.endpoints import Endpoint as Endpoint
from inkube.controllers.endpoints import Question as Question
from inkube.controllers.endpoints import Reply as Reply
from inkube.controllers.endpoints import Subresource as Subresource
from inkube.controllers.transactions import Part as Part

# Transactions
from inkube.controllers.locks import Busy as Busy
from inkube.controllers.locks import Locks as Locks
from inkube.controllers.records import MOST as MOST
from inkube.controllers.records import Record as Record
from inkube.controllers.transactions import Transaction as Transaction
from inkube.controllers.transactions import View as View
from inkube.controllers.transactions import Write as Write

# Secrets
from inkube.schemas.sealing import REDACTED as REDACTED
from inkube.controllers.secure import SecretStore as SecretStore
from inkube.controllers.secure import SecureValue as SecureValue
from inkube.controllers.secure import SecureValues as SecureValues

# Refusals
from inkube.schemas import status as status
from inkube.schemas.status import Reason as Reason
from inkube.schemas.status import StatusError as StatusError
