// The differences between two states, in pages that `inkube diff --page` writes.
import { Diff } from "./diff.js";
import { plural } from "./format.js";
import { html, useEffect, useState } from "./html.js";
import { kindOf } from "./kinds.js";
import { namespace, objectHref } from "./router.js";
import { useStore } from "./store.js";
import { dump } from "./yaml.js";

const SHOWN = 500;
const NAMES = { ADDED: "added", MODIFIED: "changed", DELETED: "removed" };

const objectOf = ({ old, new: now }) => now || old;
const placeOf = ({ metadata: { namespace: space, name } }) => (space ? `${space}/${name}` : name);
const titleOf = (object) => `${object.kind} ${placeOf(object)}`;
const textOf = (object) => (object ? dump(object).trimEnd() : "");

export default function Differences() {
  const { title, changes } = window.differences || { title: "", changes: [] };
  const space = useStore(namespace);
  const [text, setText] = useState("");
  useEffect(() => {
    document.title = "Differences · inkube";
  }, []);
  const wanted = text.toLowerCase();
  const fits = (change) => {
    const object = objectOf(change);
    const words = `${titleOf(object)} ${NAMES[change.type]} ${change.managers.join(" ")}`;
    return (!space || object.metadata.namespace === space) && words.toLowerCase().includes(wanted);
  };
  const found = changes.filter(fits);
  const failing = found.filter((change) => change.failing.length);
  const counts = Object.entries(NAMES).map(([type, name]) => `${found.filter((each) => each.type === type).length} ${name}`);
  return html`
    <div class="page">
      <h1>Differences</h1>
      <p class="quiet">${title}: ${counts.join(", ")}</p>
      <input type="search" class="block" aria-label="Filter differences" placeholder="kind, name, manager" value=${text}
        spellcheck=${false} onInput=${(event) => setText(event.target.value)} />
      ${failing.length > 0 && html`
        <section class="notice bad" aria-label="Started to fail">
          <h2>Started to fail</h2>
          <ul>${failing.map((change) => html`
            <li key=${titleOf(objectOf(change))}><${Name} change=${change} />: ${change.failing.join("; ")}</li>`)}</ul>
        </section>`}
      ${found.slice(0, SHOWN).map((change) => html`<${Change} key=${titleOf(objectOf(change))} change=${change} />`)}
      ${found.length > SHOWN && html`<p class="quiet">${plural(found.length - SHOWN, "difference")} more: filter them.</p>`}
      ${!found.length && html`<p class="empty">No differences.</p>`}
    </div>`;
}

/** The name of an object, with a link if the later state contains it. */
function Name({ change }) {
  const object = objectOf(change);
  const kind = change.new && kindOf(object.apiVersion, object.kind);
  if (!kind) return titleOf(object);
  return html`<a href=${objectHref(kind, object.metadata.namespace, object.metadata.name)}>${titleOf(object)}</a>`;
}

/** An object with its changes, which are computed when they are first shown. */
function Change({ change }) {
  const [open, setOpen] = useState(false);
  return html`
    <details class="change" onToggle=${(event) => setOpen(event.target.open)}>
      <summary>${NAMES[change.type]} <b>${titleOf(objectOf(change))}</b>
        ${change.managers.length > 0 && html` <span class="quiet">by ${change.managers.join(", ")}</span>`}</summary>
      ${open && html`
        <p><${Name} change=${change} /></p>
        <${Diff} before=${textOf(change.old)} after=${textOf(change.new)} label=${`Changes of ${titleOf(objectOf(change))}`} />`}
    </details>`;
}
