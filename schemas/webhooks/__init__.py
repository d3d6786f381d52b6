"""Admission webhooks without the network: who is asked, what is sent, what an answer means.

    matching    which webhooks of a configuration a request concerns
    conditions  matchConditions
    review      the AdmissionReview and its answer
    replies     the HTTP answer before it is a review

In come configurations, requests and answers as JSON, out come reviews to send, changed objects or
a StatusError. `apiserver.webhooks` does the calls. Follows apiserver/pkg/admission/plugin/webhook.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
