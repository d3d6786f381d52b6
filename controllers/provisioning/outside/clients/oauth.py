"""The OAuth exchange of a code for a token (RFC 6749, 4.1.3) with each provider."""

import base64
from http import HTTPStatus

from inkube.controllers.provisioning.outside.clients.rest import RestClient
from inkube.controllers.provisioning.outside.hosts import Grant, NotAuthorized

_GITHUB = "/login/oauth/access_token"
_PATHS = {
    "githubOAuth": _GITHUB,
    "githubEnterpriseOAuth": _GITHUB,
    "gitlab": "/oauth/token",
    "bitbucket": "/site/oauth2/access_token",
}


async def exchange(rest: RestClient, grant: Grant) -> tuple[str, float]:
    """Return the token and its lifetime in seconds, 0 for no limit. Raises NotAuthorized,
    OutsideError."""
    form = {
        "grant_type": "authorization_code",
        "code": grant.code,
        "client_id": grant.client_id,
        "client_secret": grant.client_secret,
    }
    if grant.redirect:
        form["redirect_uri"] = grant.redirect
    headers = {"Accept": "application/json"}
    if grant.type == "bitbucket":  # its client credentials are in a header
        pair = f"{form.pop('client_id')}:{form.pop('client_secret')}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    url = grant.base + _PATHS[grant.type]
    answer = await rest.request("POST", url, headers, form=form)
    found = answer.body if isinstance(answer.body, dict) else {}
    token = found.get("access_token")
    if answer.code != HTTPStatus.OK or not isinstance(token, str) or not token:
        raise NotAuthorized(answer.code)
    seconds = found.get("expires_in")
    return token, float(seconds) if isinstance(seconds, int | float) else 0.0
