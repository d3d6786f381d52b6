// Faults: requests that fail on purpose, if the server has this kind (Fault of world.inkube.dev).
import { ask } from "./api.js";
import { html } from "./html.js";
import { apiVersion, findKind, listPath, objectPath } from "./kinds.js";
import { useList } from "./lists.js";
import { tell } from "./notices.js";
import { newHref, objectHref } from "./router.js";

const WRITES = ["create", "update", "patch", "delete"];
const USUAL = [
  ["writes-fail", "Writes answer 500", { match: { verbs: WRITES }, answer: { code: 500 } }],
  ["writes-conflict", "Every 2nd update conflicts", { match: { verbs: ["update"] }, when: { every: 2 }, answer: { code: 409 } }],
  ["reads-late", "Reads take 2 s", { match: { verbs: ["get", "list"] }, delay: { seconds: 2 } }],
  ["watches-cut", "Watches are cut after 5 events", { match: { verbs: ["watch"] }, watch: { events: 5, end: "Cut" } }],
];

export function Faults() {
  const kind = findKind("world.inkube.dev", "v1", "faults");
  const { items } = useList(kind);
  if (!kind) return null;
  const attempt = (work) => work.catch((error) => tell(error.message, "bad"));
  const make = (name, spec) => attempt(ask(listPath(kind), {
    method: "POST", body: { apiVersion: apiVersion(kind), kind: kind.kind, metadata: { name }, spec },
  }));
  const remove = (name) => attempt(ask(objectPath(kind, "", name), { method: "DELETE" }));
  const names = new Set(items.map((each) => each.metadata.name));
  return html`
    <div class="head"><h2>Faults</h2><span class="quiet small">Requests that fail on purpose.</span>
      <span class="grow"></span><a class="button" href=${newHref(kind)}>New Fault</a></div>
    <div class="switches" role="group" aria-label="Usual faults">${USUAL.map(([name, title, spec]) => html`
      <button key=${name} aria-pressed=${String(names.has(name))}
        onClick=${() => (names.has(name) ? remove(name) : make(name, spec))}>${title}</button>`)}</div>
    ${items.length > 0 && html`
      <div class="scroll"><table class="facts">
        <thead><tr><th>Fault</th><th>Matched</th><th>Failed</th><th>Mend</th></tr></thead>
        <tbody>${items.map(({ metadata, status = {} }) => html`
          <tr key=${metadata.uid}><td><a href=${objectHref(kind, "", metadata.name)}>${metadata.name}</a></td>
            <td>${status.matched || 0}</td><td>${status.injected || 0}</td>
            <td><button onClick=${() => remove(metadata.name)}>Remove ${metadata.name}</button></td></tr>`)}</tbody>
      </table></div>`}`;
}
