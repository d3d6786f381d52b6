// Keys: `useKeys({ j: [act, "Next row"] })` while a component is there; two in a row as "g k".
// Single keys can be turned off in the help, for those who speak or shake (WCAG 2.1.4).
import { useLayoutEffect, useRef } from "./html.js";
import { kept } from "./store.js";

const PATIENCE = 1200; // milliseconds between the two keys of a pair
const bound = new Set();
export const singleKeys = kept("keys", true);
let first = "";
let timer = 0;

/** Bind keys to `[act, what it does]`, before what is drawn is shown. Later bindings win over earlier ones. */
export function useKeys(bindings) {
  const current = useRef(bindings);
  current.current = bindings;
  useLayoutEffect(() => {
    bound.add(current);
    return () => bound.delete(current);
  }, []);
}

/** `[key, what it does]` of all that is bound now. */
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
