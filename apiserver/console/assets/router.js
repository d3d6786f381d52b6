// The current page: the part of the address after `#`. The browser never reloads the page.
import { kept, store } from "./store.js";

/** The namespace shown by lists; "" means all. */
export const namespace = kept("namespace", "");

/** The `parts` of the path, and the `query`. */
export const route = store(read());
addEventListener("hashchange", () => route.set(read()));

function read() {
  const [path, search = ""] = location.hash.slice(1).split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { parts, query: Object.fromEntries(new URLSearchParams(search)) };
}

export const go = (href) => {
  location.hash = href;
};

/** Change the query of this page without an entry in the browser's history. */
export function setQuery(changes) {
  const { parts, query } = route.get();
  const next = Object.entries({ ...query, ...changes }).filter(([, value]) => value);
  const search = next.length ? `?${new URLSearchParams(next)}` : "";
  history.replaceState(null, "", `#/${parts.map(encodeURIComponent).join("/")}${search}`);
  route.set(read());
}

const at = (kind) => `${kind.group || "core"}/${kind.version}/${kind.plural}`;

/** The table of a kind. */
export const kindHref = (kind) => `#/kind/${at(kind)}`;

/** One object; `tab` is the tab to show first. */
export function objectHref(kind, space, name, tab = "") {
  const path = `#/object/${at(kind)}/${space ? encodeURIComponent(space) : "-"}`;
  return `${path}/${encodeURIComponent(name)}${tab ? `?tab=${tab}` : ""}`;
}

/** The form for a new object of a kind. */
export const newHref = (kind) => `#/new/${at(kind)}`;
