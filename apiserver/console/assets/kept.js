// The states of one object that are still in the log, the oldest first, then new ones as they come.
//
// It uses only the ordinary API: the error for a too old version contains the oldest kept one;
// a list at exactly that version is the first state, and a watch from there returns all others.
import { ApiError, ask, query, readLines } from "./api.js";
import { listPath } from "./kinds.js";
import { typed } from "./objects.js";
import { follow } from "./watch.js";

const ANCIENT = 1; // a version that no server keeps

/** Calls `sink.states([{revision, type, object}])` for new states, and `sink.failed(error)`. */
export function followKept(kind, namespace, name, sink) {
  const control = new AbortController();
  const path = listPath(kind, namespace);
  const fieldSelector = `metadata.name=${name}`;
  let stop = () => {};
  begin().catch((error) => control.signal.aborted || sink.failed(error));
  return () => {
    control.abort();
    stop();
  };

  async function begin() {
    const oldest = await findOldest(path, fieldSelector, control.signal);
    const states = [];
    if (oldest) {
      const exact = { fieldSelector, resourceVersion: oldest, resourceVersionMatch: "Exact" };
      const list = await ask(path + query(exact), { signal: control.signal });
      for (const item of list.items) states.push(stateOf("KEPT", typed(item, list)));
    }
    sink.states([...states]);
    const event = (type, object) => {
      states.push(stateOf(type, object));
      sink.states([...states]);
    };
    if (control.signal.aborted) return;
    stop = follow(path, { reset() {}, page() {}, listed() {}, state() {}, event, failed: sink.failed }, {
      parameters: { fieldSelector, resourceVersion: oldest || String(ANCIENT) }, list: false,
    });
  }
}

const stateOf = (type, object) => ({ type, object, revision: object.metadata.resourceVersion });

/** The oldest readable version, from the error `too old resource version: 1 (100)`. */
async function findOldest(path, fieldSelector, signal) {
  const wanted = { watch: "true", fieldSelector, resourceVersion: ANCIENT, timeoutSeconds: 1 };
  let oldest = "";
  const hear = (status) => {
    oldest = /\((\d+)\)/.exec(status.message || "")?.[1] || "";
  };
  try {
    await readLines(path + query(wanted), (line) => {
      if (!line) return;
      const { type, object } = JSON.parse(line);
      if (type === "ERROR") hear(object);
    }, { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 410) throw error;
    hear(error);
  }
  return oldest;
}
