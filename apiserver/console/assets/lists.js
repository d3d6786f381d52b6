// Objects of a kind with live updates, as long as the component exists.
import { useEffect, useState } from "./html.js";
import { listPath } from "./kinds.js";
import { typed } from "./objects.js";
import { follow } from "./watch.js";

const GATHER = 100; // milliseconds: changes within this time are rendered together

/** `{items, state, error}`; `kind` may be undefined if the server lacks the kind. */
export function useList(kind, namespace = "", parameters = {}) {
  const [found, setFound] = useState({ items: [], state: "loading", error: null });
  useEffect(() => {
    if (!kind) return undefined;
    const items = new Map();
    let state = "loading";
    let timer = 0;
    const show = (error = null) => {
      clearTimeout(timer);
      timer = 0;
      setFound({ items: [...items.values()], state, error });
    };
    const soon = () => {
      timer ||= setTimeout(show, GATHER);
    };
    const stop = follow(listPath(kind, namespace), {
      reset: () => items.clear(),
      page: (list) => list.items.forEach((each) => items.set(each.metadata.uid, typed(each, list))),
      listed: () => show(),
      event(type, object) {
        if (type === "DELETED") items.delete(object.metadata.uid);
        else items.set(object.metadata.uid, object);
        soon();
      },
      state(next) {
        state = next;
        soon();
      },
      failed: show,
    }, { parameters });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [kind, namespace, JSON.stringify(parameters)]);
  return found;
}
