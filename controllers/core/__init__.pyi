from inkube.controllers.core import accounts as accounts
from inkube.controllers.core import protection as protection
from inkube.controllers.core.accounts import ACCOUNTS as ACCOUNTS
from inkube.controllers.core.accounts import NAMESPACES as NAMESPACES
from inkube.controllers.core.accounts import is_ending as is_ending
from inkube.controllers.core.catalog import Kind as Kind
from inkube.controllers.core.protection import claims_of as claims_of
