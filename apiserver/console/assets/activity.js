// What happens in the server: the newest changes of its store, and its open watches.
import { ask } from "./api.js";
import { useEffect } from "./html.js";
import { store } from "./store.js";

const EVERY = 3; // seconds between two readings
const KEPT = 1000; // changes

/** `{changes, watches, oldest, revision}`; null before the first reading, or without the permission. */
export const activity = store(null);

/** Add later changes to those that are known. A server that started again has no later ones. */
export function joined(before, next) {
  if (!before || BigInt(next.revision) < BigInt(before.revision)) return next;
  return { ...next, changes: [...before.changes, ...next.changes].slice(-KEPT) };
}

async function read() {
  const before = activity.get();
  try {
    activity.set(joined(before, await ask(`/debug/activity?after=${before?.revision || 0}`)));
  } catch {
    activity.set(null); // without the permission, and in a saved state, the page has no timeline
  }
}

/** Read the activity as long as the component exists and the page is visible. */
export function useActivity() {
  useEffect(() => {
    read();
    const timer = setInterval(() => document.hidden || (activity.get() && read()), EVERY * 1000);
    return () => clearInterval(timer);
  }, []);
}

/** Who made how many changes, the most first. */
export function writers(changes) {
  const found = new Map();
  for (const each of changes) {
    for (const name of each.managers) found.set(name, (found.get(name) || 0) + 1);
  }
  return [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/** The number of changes in each of `many` equal parts of the time from the first to the last. */
export function parts(changes, many) {
  const times = changes.map((each) => Date.parse(each.time));
  const first = times[0];
  const step = Math.max(times.at(-1) - first, 1) / many;
  const counts = new Array(many).fill(0);
  for (const time of times) counts[Math.min(Math.max(Math.floor((time - first) / step), 0), many - 1)] += 1;
  return { first, step, counts };
}
