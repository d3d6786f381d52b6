from inkube.apiserver.root.declared.judging import judged_kinds as judged_kinds
from inkube.apiserver.root.declared.kinds import install as install
from inkube.controllers.environment import Environment as Environment
from inkube.controllers.secure import Entry as Entry
