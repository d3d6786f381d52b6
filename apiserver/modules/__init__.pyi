from inkube.apiserver.modules import installed as installed
from inkube.apiserver.modules import outlines as outlines
from inkube.apiserver.modules.selection import BUILT_IN as BUILT_IN
from inkube.apiserver.modules.selection import Declared as Declared
from inkube.apiserver.modules.selection import chosen as chosen
from inkube.apiserver.modules.selection import groups as groups
from inkube.apiserver.modules.selection import options as options
