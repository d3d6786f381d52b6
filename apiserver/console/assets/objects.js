// One object with live updates.
import { listPath } from "./kinds.js";
import { useEffect, useState } from "./html.js";
import { follow } from "./watch.js";

/** `{object, state, error, gone}`: `object` is null before the first response; `gone` after its deletion. */
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

/** An item of a list, with the apiVersion and kind of the list. */
export function typed(item, list) {
  return { apiVersion: list.apiVersion, kind: list.kind.replace(/List$/, ""), ...item };
}

/** The common members of all objects first, then the others. */
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

/** The object without members that change with every write, for comparisons. */
export function withoutVersion(object) {
  const { managedFields: _, resourceVersion: __, ...metadata } = object.metadata;
  return inOrder({ ...object, metadata });
}

/** The object without managedFields. */
export function withoutManagers(object) {
  const { managedFields: _, ...metadata } = object.metadata;
  return inOrder({ ...object, metadata });
}
