from inkube.apiserver.dumps.findings import DumpError as DumpError
from inkube.apiserver.dumps.importing import Imported as Imported
from inkube.apiserver.dumps.importing import ImportOptions as ImportOptions
from inkube.apiserver.dumps.importing import import_dump as import_dump
