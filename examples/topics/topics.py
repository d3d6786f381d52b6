"""Topics of a message broker: a kind with a secret, checks that read it, and a unique field."""

import asyncio
import sys

import aiohttp
from pydantic import Field

from inkube import APIServer, kinds


class TopicSpec(kinds.Model):
    broker: str = Field(pattern="^https?://")
    topic: str = Field(min_length=1)


class TopicSecure(kinds.Model):
    password: kinds.SecureValue | None = None


class Topic(kinds.Resource, group="example.com", version="v1"):
    spec: TopicSpec
    secure: TopicSecure = TopicSecure()


async def status_of(topic: Topic, secrets: kinds.Secrets) -> int:
    login = {"Authorization": f"Bearer {await secrets.read('password')}"}
    try:
        url = f"{topic.spec.broker}/topics/{topic.spec.topic}"
        async with aiohttp.request("GET", url, headers=login) as answer:
            return answer.status
    except aiohttp.ClientError as error:
        raise kinds.Unreachable("the broker", "no connection") from error


@kinds.check(Topic, field="secure.password", failure="failed to check if authorized")
async def password_accepted(topic: Topic, secrets: kinds.Secrets) -> kinds.Problem | None:
    is_refused = await status_of(topic, secrets) == 401
    return kinds.Invalid("not authorized") if is_refused else None


@kinds.check(Topic, field="spec.topic", after=[password_accepted])
async def topic_exists(topic: Topic, secrets: kinds.Secrets) -> kinds.Problem | None:
    is_missing = await status_of(topic, secrets) == 404
    return kinds.NotFound("the broker has no such topic") if is_missing else None


TOPICS = kinds.KindModule(Topic, checks=[password_accepted, topic_exists], unique=["spec.topic"])


async def main(origin: str) -> None:
    async with APIServer(kinds=[TOPICS], allow_origins=[origin]) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
