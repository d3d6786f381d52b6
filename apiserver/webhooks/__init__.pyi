from inkube.apiserver.webhooks.caller import WebhookCaller as WebhookCaller
from inkube.apiserver.webhooks.conversion import WebhookConverter as WebhookConverter
from inkube.apiserver.webhooks.dispatcher import Dispatcher as Dispatcher
from inkube.apiserver.webhooks.plugins import MutatingWebhooks as MutatingWebhooks
from inkube.apiserver.webhooks.plugins import ValidatingWebhooks as ValidatingWebhooks
