from inkube.apiserver.webhooks.calls.caller import Loopback as Loopback
from inkube.apiserver.webhooks.calls.caller import WebhookCaller as WebhookCaller
from inkube.apiserver.webhooks.calls.conversion import WebhookConverter as WebhookConverter
from inkube.apiserver.webhooks.calls.dispatcher import Dispatcher as Dispatcher
