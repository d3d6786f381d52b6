from inkube.apiserver.upgrades import statements as statements
from inkube.apiserver.upgrades.minors import parsed_gates as parsed_gates
from inkube.apiserver.upgrades.rehearsal import RehearsalOptions as RehearsalOptions
from inkube.apiserver.upgrades.rehearsal import rehearse as rehearse
from inkube.apiserver.upgrades.statements import Report as Report
from inkube.apiserver.upgrades.statements import as_json as as_json
from inkube.apiserver.upgrades.statements import text as text
