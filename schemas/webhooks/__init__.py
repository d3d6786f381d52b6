"""Admission webhooks without the network: matching, requests and responses.

    matching    the webhooks of a configuration that match a request
    conditions  matchConditions
    review      the AdmissionReview and its response
    replies     the HTTP response before it is decoded as a review
    answers     the checks that admission and conversion reviews share

The functions take configurations, requests and responses as JSON, and return reviews to send,
changed objects or a StatusError. `apiserver.webhooks` calls the webhooks. Follows
apiserver/pkg/admission/plugin/webhook.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
