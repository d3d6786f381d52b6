// The page to create an object of a kind.
import { Editor } from "./editor.js";
import { html } from "./html.js";
import { findKind } from "./kinds.js";
import { go, kindHref, namespace, objectHref } from "./router.js";

export default function Creating({ parts }) {
  const [group, version, plural] = parts;
  const kind = findKind(group === "core" ? "" : group, version, plural);
  if (!kind) return html`<div class="page"><h1>${plural}</h1><p class="bad">The server has no such kind.</p></div>`;
  const done = ({ metadata }) => go(objectHref(kind, metadata.namespace, metadata.name));
  return html`
    <div class="page">
      <p class="crumbs"><a href=${kindHref(kind)}>${kind.kind}</a></p>
      <h1>New ${kind.kind}</h1>
      <div class="editor"><${Editor} kind=${kind} namespace=${namespace.get()} done=${done} /></div>
    </div>`;
}
