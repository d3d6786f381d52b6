// The moment that lists show: the present, or a revision in the log.
import { store } from "./store.js";

/** `{revision, time}`; null is the present. */
export const past = store(null);

/** The parameters of a list at that moment. */
export function atMoment() {
  const shown = past.get();
  return shown ? { resourceVersion: shown.revision, resourceVersionMatch: "Exact" } : {};
}
