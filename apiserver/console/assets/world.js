// The scripted world: the data of git hosts and GitHub, to break and repair by clicks, and the
// resulting errors of the checks.
import { ask } from "./api.js";
import { Faults } from "./faults.js";
import { plural } from "./format.js";
import { html, useEffect } from "./html.js";
import { findKind, objectPath } from "./kinds.js";
import { useList } from "./lists.js";
import { tell } from "./notices.js";
import { kindHref, newHref, objectHref } from "./router.js";
import { allParts, breakPart, isNobodys, mendPart } from "./worldparts.js";

const WORLD = "world.inkube.dev";
const CHECKED = [["provisioning.grafana.app", "repositories"], ["provisioning.grafana.app", "connections"]];
const VERSIONS = ["v0alpha1", "v1beta1", "v1"];
const OUTAGES = [
  ["", "answers"],
  ['{"code":500}', "answers 500 to everything"],
  ['{"code":503}', "answers 503 to everything"],
  ['{"code":404}', "answers 404 to everything"],
  ['{"delayMilliseconds":3000}', "answers after 3 s"],
];

/** Change an object of the world by a merge patch. Fails if another client was faster. */
async function write(kind, object, patch) {
  const { name, resourceVersion } = object.metadata;
  const body = { ...patch, metadata: { ...patch.metadata, resourceVersion } };
  try {
    await ask(`${objectPath(kind, "", name)}?fieldManager=inkube-console`, {
      method: "PATCH", type: "application/merge-patch+json", body,
    });
  } catch (error) {
    tell(error.message, "bad");
  }
}

export default function World() {
  useEffect(() => {
    document.title = "Outside systems · inkube";
  }, []);
  const hostKind = findKind(WORLD, "v1", "githosts");
  const appKind = findKind(WORLD, "v1", "githubapps");
  const hosts = useList(hostKind);
  const apps = useList(appKind);
  if (!hostKind) {
    return html`<div class="page"><h1>Outside systems</h1><p class="notice">This server has no kinds of the
      scripted world: it was started without the module <code>world</code>.</p></div>`;
  }
  return html`
    <div class="page">
      <div class="head"><h1>Outside systems</h1><span class="quiet small">Simulated systems. One click breaks a part, another restores it.</span>
        <span class="grow"></span><a class="button" href=${newHref(hostKind)}>New GitHost</a>
        ${appKind && html`<a class="button" href=${newHref(appKind)}>New GitHubApp</a>`}</div>
      ${hosts.error && html`<p class="notice bad" role="alert">${hosts.error.message}</p>`}
      <div class="cards">
        ${hosts.items.map((host) => html`<${Host} key=${host.metadata.uid} host=${host} kind=${hostKind} />`)}
        ${apps.items.map((app) => html`<${App} key=${app.metadata.uid} app=${app} kind=${appKind} />`)}
      </div>
      ${!hosts.items.length && !apps.items.length && hosts.state === "live" && html`
        <p class="notice">Nothing is scripted yet: without a GitHost no repository answers (with
          <code>--offline</code>) or the real one does.</p>`}
      <h2>What checks find</h2>
      ${CHECKED.map(([group, name]) => html`<${Checked} key=${name} group=${group} plural=${name} />`)}
      <${Faults} />
    </div>`;
}

function Switch({ on, label, flip, hint }) {
  return html`<button class="switch" aria-pressed=${String(on)} title=${hint} onClick=${flip}>${label}</button>`;
}

function Parts({ title, object, kind, place, parts }) {
  const all = allParts(object, place, parts);
  if (!all.length) return null;
  const flip = (part, on) => write(kind, object, (on ? breakPart : mendPart)(object, place, part));
  return html`
    <div><h3 class="quiet">${title}</h3>
      <div class="switches">${all.map(([part, on]) => html`
        <${Switch} key=${part.id} on=${on} label=${part.label} hint=${on ? "click to break" : "click to mend"}
          flip=${() => flip(part, on)} />`)}</div></div>`;
}

const masked = (token) => `${token.value.slice(0, 3)}…${token.write ? " (may write)" : ""}`;

function Host({ host, kind }) {
  const { metadata, spec } = host;
  const tokens = (spec.tokens || []).filter((each) => !isNobodys(each)).map((token) => ({ id: token.value, label: masked(token) }));
  const outage = spec.outage ? JSON.stringify(spec.outage) : "";
  const known = OUTAGES.some(([value]) => value === outage);
  const setOutage = (event) =>
    write(kind, host, { spec: { outage: event.target.value ? JSON.parse(event.target.value) : null } });
  return html`
    <section class="card world" aria-label="GitHost ${metadata.name}">
      <div class="bar"><h2><a href=${objectHref(kind, "", metadata.name)}>${metadata.name}</a></h2><span class="quiet">git host</span></div>
      <label class="bar">It <select value=${outage} onChange=${setOutage}>
        ${OUTAGES.map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
        ${!known && html`<option value=${outage}>${outage}</option>`}</select></label>
      <${Parts} title="Tokens" object=${host} kind=${kind} place="tokens" parts=${tokens} />
      ${(spec.repositories || []).map((each) => html`
        <${Parts} key=${each.path} title=${each.path} object=${host} kind=${kind} place="branches/${each.path}"
          parts=${branchesOf(each).map((name) => ({ id: name, label: name }))} />`)}
    </section>`;
}

const branchesOf = ({ branches = [], defaultBranch }) =>
  defaultBranch && !branches.includes(defaultBranch) ? [defaultBranch, ...branches] : branches;

function App({ app, kind }) {
  const { metadata, spec } = app;
  const installations = (spec.installations || []).map(({ id }) => ({ id, label: `installation ${id}` }));
  return html`
    <section class="card world" aria-label="GitHubApp ${metadata.name}">
      <div class="bar"><h2><a href=${objectHref(kind, "", metadata.name)}>${metadata.name}</a></h2><span class="quiet">GitHub app</span></div>
      <${Parts} title="Installations" object=${app} kind=${kind} place="installations" parts=${installations} />
    </section>`;
}

function Checked({ group, plural: name }) {
  const kind = VERSIONS.map((version) => findKind(group, version, name)).find(Boolean);
  const { items } = useList(kind);
  if (!kind || !items.length) return null;
  return html`
    <div class="scroll"><table class="facts">
      <thead><tr><th><a href=${kindHref(kind)}>${kind.kind}</a></th><th>Health</th><th>Field errors</th></tr></thead>
      <tbody>${items.map((each) => html`<${CheckedRow} key=${each.metadata.uid} object=${each} kind=${kind} />`)}</tbody>
    </table></div>`;
}

function CheckedRow({ object, kind }) {
  const { metadata, status = {} } = object;
  const errors = status.fieldErrors || [];
  const healthy = status.health?.healthy;
  return html`
    <tr><td><a href=${objectHref(kind, metadata.namespace, metadata.name)}>${metadata.namespace}/${metadata.name}</a></td>
      <td>${healthy === undefined ? html`<span class="quiet">not checked yet</span>`
        : html`<span class="chip ${healthy ? "good" : "bad"}">${healthy ? "healthy" : plural(errors.length, "error")}</span>`}</td>
      <td>${errors.map((each) => html`<div key=${each.field + each.detail}><code>${each.field}</code> <span class="bad">${each.detail}</span></div>`)}</td></tr>`;
}
