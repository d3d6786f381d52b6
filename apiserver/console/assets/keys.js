// Keyboard shortcuts: `useKeys({ j: [act, "Next row"] })` while a component exists; "g k" is a sequence.
// Single keys can be turned off in the help, for users of speech input or with tremor (WCAG 2.1.4).
import { useLayoutEffect, useRef } from "./html.js";
import { kept } from "./store.js";

const PATIENCE = 1200; // the maximum of milliseconds between the two keys of a sequence
const bound = new Set();
export const singleKeys = kept("keys", true);
let first = "";
let timer = 0;

/** Bind keys to `[act, description]` before the component is painted. Later bindings override earlier ones. */
export function useKeys(bindings) {
  const current = useRef(bindings);
  current.current = bindings;
  useLayoutEffect(() => {
    bound.add(current);
    return () => bound.delete(current);
  }, []);
}

/** `[key, description]` of all current bindings. */
export function listKeys() {
  const found = new Map();
  for (const { current } of bound) {
    for (const [key, [, what]] of Object.entries(current)) if (what) found.set(key, what);
  }
  return [...found];
}

function find(key) {
  for (const { current } of [...bound].reverse()) if (current[key]) return current[key][0];
  return undefined;
}

const isTyping = (target) =>
  target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

function nameOf(event) {
  const mark = event.ctrlKey || event.metaKey ? "Ctrl+" : "";
  return mark + event.key;
}

addEventListener("keydown", (event) => {
  if (event.altKey || event.isComposing) return;
  const key = nameOf(event);
  const single = !key.startsWith("Ctrl+") && key !== "Escape";
  if (single && (isTyping(event.target) || !singleKeys.get())) return;
  if (event.target.closest("dialog")) return;
  const act = find(first ? `${first} ${key}` : key) || find(key);
  const begins = !first && [...bound].some(({ current }) =>
    Object.keys(current).some((each) => each.startsWith(`${key} `)));
  clearTimeout(timer);
  first = "";
  if (act) {
    event.preventDefault();
    act(event);
  } else if (begins) {
    first = key;
    timer = setTimeout(() => (first = ""), PATIENCE);
  }
});
