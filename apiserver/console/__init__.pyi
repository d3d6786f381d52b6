from inkube.apiserver.console import report as report
from inkube.apiserver.console.activity import Activity as Activity
from inkube.apiserver.console.pages import Pages as Pages
from inkube.apiserver.console.requestlog import RequestLog as RequestLog

ROOT: str
