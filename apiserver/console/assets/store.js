// A value to which components subscribe.
import { useEffect, useReducer } from "./html.js";

/** @template T @param {T} value */
export function store(value) {
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    /** Subscribe; call the returned function to end it. */
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The value; the component renders again at each change. */
export function useStore(followed) {
  const [, again] = useReducer((count) => count + 1, 0);
  useEffect(() => {
    const seen = followed.get();
    const stop = followed.subscribe(again);
    if (!Object.is(seen, followed.get())) again();
    return stop;
  }, [followed]);
  return followed.get();
}

/** A store that is saved in the browser's local storage under a name. */
export function kept(name, fallback) {
  const key = `inkube.${name}`;
  const found = localStorage.getItem(key);
  const made = store(found === null ? fallback : JSON.parse(found));
  made.subscribe((value) => localStorage.setItem(key, JSON.stringify(value)));
  return made;
}
