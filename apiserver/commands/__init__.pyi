from inkube.apiserver.commands import exporting as exporting
