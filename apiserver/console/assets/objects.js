// One object as it is now, followed for as long as somebody looks at it.
import { listPath } from "./kinds.js";
import { useEffect, useState } from "./html.js";
import { follow } from "./watch.js";

/** `{object, state, error, gone}`: the object, null before it is known; `gone` once it was deleted. */
export function useObject(kind, namespace, name) {
  const [found, setFound] = useState({ object: null, state: "loading", error: null, gone: false });
  useEffect(() => {
    const change = (changes) => setFound((before) => ({ ...before, ...changes }));
    let listed = null;
    return follow(listPath(kind, namespace), {
      reset: () => (listed = null),
      page: (list) => (listed = list.items[0] ? typed(list.items[0], list) : listed),
      listed: () => change(listed ? { object: listed, gone: false } : { gone: true }),
      event: (type, object) => change({ object, gone: type === "DELETED" }),
      state: (state) => change({ state }),
      failed: (error) => change({ error }),
    }, { parameters: { fieldSelector: `metadata.name=${name}` } });
  }, [kind, namespace, name]);
  return found;
}

/** An item of a list with the apiVersion and kind that only the list tells. */
export function typed(item, list) {
  return { apiVersion: list.apiVersion, kind: list.kind.replace(/List$/, ""), ...item };
}

/** The members that every object has first, then its own. */
export function inOrder(object) {
  const { apiVersion, kind, metadata, spec, status, ...rest } = object;
  return defined({ apiVersion, kind, metadata: metadataInOrder(metadata), spec, ...rest, status });
}

function metadataInOrder({ name, generateName, namespace, labels, annotations, ...rest }) {
  return defined({ name, generateName, namespace, labels, annotations, ...rest });
}

function defined(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

/** The object without what changes with every write: for comparing. */
export function withoutVersion(object) {
  const { managedFields: _, resourceVersion: __, ...metadata } = object.metadata;
  return inOrder({ ...object, metadata });
}

/** The object without what only says who wrote what. */
export function withoutManagers(object) {
  const { managedFields: _, ...metadata } = object.metadata;
  return inOrder({ ...object, metadata });
}
