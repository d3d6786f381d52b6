"""The speed of the console, measured by the browser itself.

The limits are a multiple of the times on an idle machine with two cores, because other tests run at
the same time. They are raised further on a busy machine. The measurements are printed (`-s`).
"""

import asyncio

import pytest
from patience import crowding

from inkube.apiserver.configuration import Options
from inkube.apiserver.testing.kube import Plan, running
from inkube.schemas.meta import GVR

OBJECTS = 10_000
FIRST_PAINT = 3_000  # milliseconds; 300 wanted
LISTED = 10_000  # milliseconds; 1,000 wanted
LONGEST_FRAME = 1_000  # milliseconds; 100 wanted
TRANSFERRED = 150_000  # bytes, wanted and held
FILES = 5  # the page, its style, its icon, its theme and its script
TRIES = 3
"""A slow console is slow in each try; a busy machine only in some."""
EVENTS, RATE, ROWS = 600, 200, 30

FRAMES = """() => {
  window.frames_ = [];
  let last = performance.now();
  const look = (now) => {
    window.frames_.push(now - last);
    last = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""

ALL_THERE = "many => Number(document.querySelector('.count')?.dataset.total) >= many"
CHANGED = """keys => [...document.querySelectorAll('tbody tr.row')]
  .some(row => row.children[2]?.textContent === keys)"""


def config_map(number):
    meta = {"name": f"settings-{number:05}", "namespace": "default", "labels": {"tier": "web"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"n": "0"}}


@pytest.fixture(scope="module")
def crowd(server_thread):
    """A server with ten thousand objects."""
    with running(server_thread, Plan(Options(offline=True))) as kube:

        async def fill():
            for number in range(OBJECTS):
                await kube.server.client.create(config_map(number))

        server_thread.run(fill())
        yield kube


def test_the_first_paint_is_quick_and_little_is_transferred(kube, read):
    for _ in range(TRIES):
        page = read(kube).go()
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        longest = FIRST_PAINT * crowding()
        if paint < longest:
            break
    entries = page.evaluate(
        "[...new Map(['navigation', 'resource'].flatMap(sort => performance.getEntriesByType(sort))"
        ".filter(each => !each.name.endsWith('limit=1'))"  # the numbers of objects follow later
        ".map(each => [each.name, each.transferSize])).values()]"  # each once
    )
    total = sum(entries)
    print(f"first paint {paint:.0f} ms, {total:,} bytes of {len(entries)} requests")
    assert paint < longest
    assert total < TRANSFERRED
    names = page.evaluate(
        "performance.getEntriesByType('resource').map(each => new URL(each.name).pathname)"
    )
    assert len({name for name in names if name.startswith("/console/")} | {"/console/"}) == FILES


def test_ten_thousand_objects_are_listed_soon(crowd, read):
    for _ in range(TRIES):
        page = read(crowd).go()
        page.evaluate(
            "() => { window.began = performance.now();"
            " location.hash = '#/kind/core/v1/configmaps'; }"
        )
        page.wait_for_function(ALL_THERE, arg=OBJECTS)
        took = page.evaluate("performance.now() - window.began")
        longest = LISTED * crowding()
        if took < longest:
            break
    print(f"{OBJECTS:,} objects listed after {took:.0f} ms")
    assert page.locator("tbody tr.row").count() < 100  # only the visible rows
    assert took < longest


def test_two_hundred_changes_a_second_drop_no_frame(crowd, read, server_thread):
    async def change(turn):
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number in range(EVENTS):
            body = {"data": {f"n{turn}-{number}": "1"}}
            name = f"settings-{number % ROWS:05}"
            await crowd.server.client.patch(
                GVR("", "v1", "configmaps"), name, "default", patch=body
            )
            wait = began + number / RATE - loop.time()
            if wait > 0:
                await asyncio.sleep(wait)

    for turn in range(TRIES):
        page = read(crowd).go("kind/core/v1/configmaps")
        page.wait_for_function(ALL_THERE, arg=OBJECTS)
        page.locator(".state.live").wait_for()
        page.evaluate(FRAMES)
        server_thread.run(change(turn))
        page.get_by_label("Search configmaps").fill("settings-000")
        keys = (turn + 1) * EVENTS // ROWS + 1
        page.wait_for_function(CHANGED, arg=str(keys))  # the last change is visible
        frames = page.evaluate("window.frames_.slice(2)")
        longest = LONGEST_FRAME * crowding()
        if max(frames) < longest:
            break
    print(f"{len(frames)} frames, the longest {max(frames):.0f} ms")
    assert max(frames) < longest
