// Where the reader is: the part of the address after `#`. No page is loaded anew.
import { kept, store } from "./store.js";

/** The namespace that lists show; "" is all of them. */
export const namespace = kept("namespace", "");

/** `parts` of the path, and the `query`. */
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

/** Change the query of this place, without a step in the browser's history. */
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

/** One object; `tab` is what of it is shown first. */
export function objectHref(kind, space, name, tab = "") {
  const path = `#/object/${at(kind)}/${space ? encodeURIComponent(space) : "-"}`;
  return `${path}/${encodeURIComponent(name)}${tab ? `?tab=${tab}` : ""}`;
}

/** The form for a new object of a kind. */
export const newHref = (kind) => `#/new/${at(kind)}`;
