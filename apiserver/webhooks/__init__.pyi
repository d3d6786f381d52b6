from inkube.apiserver.webhooks.caller import WebhookCaller as WebhookCaller
from inkube.apiserver.webhooks.conversion import WebhookConverter as WebhookConverter
from inkube.apiserver.webhooks.dispatcher import Dispatcher as Dispatcher
