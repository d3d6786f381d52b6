from inkube.apiserver.webhooks.calls import Dispatcher as Dispatcher
from inkube.apiserver.webhooks.calls import Loopback as Loopback
from inkube.apiserver.webhooks.calls import WebhookCaller as WebhookCaller
from inkube.apiserver.webhooks.calls import WebhookConverter as WebhookConverter
from inkube.apiserver.webhooks.plugins import MutatingWebhooks as MutatingWebhooks
from inkube.apiserver.webhooks.plugins import ValidatingWebhooks as ValidatingWebhooks
