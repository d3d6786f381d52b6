// Lists and watches: the existing objects, then every change, until the component is gone.
import { ApiError, ask, query } from "./api.js";
import { atMoment, past } from "./past.js";
import { readEvents } from "./sockets.js";
import { watchHidden, whenShown } from "./visibility.js";

const LONGEST_DELAY = 5000;
const pause = (ms, signal) =>
  new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });

/**
 * List, then watch, and resume after the watch ends. Calls of `sink`:
 * `reset()` before a list, `page(answer)` for each page of it, `listed()` at its end,
 * `event(type, object)` for each change, `state("loading" | "live" | "lost" | "past")`, `failed(error)`.
 * An error other than 410 ends it. A list of the past is not watched, and its state is "past".
 * @returns {() => void} stops it
 */
export function follow(path, sink, { accept, parameters = {}, pageSize = 0, list = true } = {}) {
  const control = new AbortController();
  const { signal } = control;
  run().catch((error) => signal.aborted || sink.failed(error));
  return () => control.abort();

  async function run() {
    if (list && past.get()) {
      await listAll();
      return sink.state("past");
    }
    let version = parameters.resourceVersion || "";
    let delay = 200;
    while (!signal.aborted) {
      await whenShown(signal);
      const hidden = watchHidden();
      try {
        if (!version) version = await listAll();
        await watchFrom(version, (seen) => {
          version = seen;
          delay = 200;
        }, AbortSignal.any([signal, hidden.signal]));
        if (signal.aborted) return;
        sink.state("lost");
        await pause(100, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (hidden.signal.aborted) continue;
        if (error instanceof ApiError && error.code === 410) {
          if (!list) throw error;
          version = "";
          continue;
        }
        if (error instanceof ApiError && error.code < 500 && error.code !== 429) throw error;
        sink.state("lost");
        await pause(delay, signal);
        delay = Math.min(delay * 2, LONGEST_DELAY);
      } finally {
        hidden.stop();
      }
    }
  }

  async function listAll() {
    sink.state("loading");
    sink.reset();
    let token = "";
    let first = true;
    for (;;) {
      // a small first page is shown during the next ones
      const limit = pageSize && first ? Math.min(pageSize, 200) : pageSize;
      const asked = { ...parameters, ...(token ? {} : atMoment()), limit: limit || "", continue: token };
      const answer = await ask(path + query(asked), { accept, signal });
      sink.page(answer);
      first = false;
      token = answer.metadata.continue || "";
      if (!token) {
        sink.listed();
        return answer.metadata.resourceVersion;
      }
    }
  }

  async function watchFrom(version, seen, until) {
    const asked = { ...parameters, watch: "true", allowWatchBookmarks: "true" };
    asked.resourceVersion = version;
    const onOpen = () => sink.state("live");
    await readEvents(path + query(asked), onEvent, { accept, signal: until, onOpen });

    function onEvent({ type, object }) {
      if (type === "ERROR") throw new ApiError(object.code || 500, object);
      seen(versionOf(object));
      if (type !== "BOOKMARK") sink.event(type, object);
    }
  }
}

/** The resourceVersion of an object, or of a table row's object. */
function versionOf(object) {
  if (object.kind !== "Table") return object.metadata.resourceVersion;
  return object.metadata?.resourceVersion || object.rows[0].object.metadata.resourceVersion;
}
