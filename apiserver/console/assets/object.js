// The page of one object: its state, its problems, and a tab for each view.
import { Actions } from "./actions.js";
import { Conditions, Health } from "./conditions.js";
import { Delete } from "./deleting.js";
import { Editor } from "./editor.js";
import { Events } from "./events.js";
import { Fields } from "./fields.js";
import { age, moment } from "./format.js";
import { History } from "./history.js";
import { html, useEffect, useState } from "./html.js";
import { useKeys } from "./keys.js";
import { findKind, kindOf } from "./kinds.js";
import { useObject } from "./objects.js";
import { Logs, Pods } from "./pods.js";
import { ofStatus, Problems } from "./problems.js";
import { Related } from "./related.js";
import { go, kindHref, objectHref, setQuery } from "./router.js";
import { may } from "./session.js";
import { State } from "./table.js";
import { Terminal } from "./terminal.js";
import { useTick } from "./ticks.js";
import { YamlView } from "./yamlview.js";

const AGES = 10; // seconds between updates of ages

export default function ObjectPage({ parts, query }) {
  const [group, version, plural, place, name] = parts;
  const kind = findKind(group === "core" ? "" : group, version, plural);
  if (!kind) return html`<div class="page"><h1>${plural}</h1><p class="bad">The server has no such kind.</p></div>`;
  const namespace = place === "-" ? "" : place;
  return html`<${OneObject} kind=${kind} namespace=${namespace} name=${name} query=${query} />`;
}

function useRights(kind, namespace, name) {
  const [rights, setRights] = useState({});
  useEffect(() => {
    const verbs = ["update", "patch", "delete"].filter((verb) => kind.verbs.includes(verb));
    Promise.all(verbs.map(async (verb) => [verb, await may(verb, kind, namespace, name)])).then(
      (found) => setRights(Object.fromEntries(found)),
      () => setRights({}), // without this right, the actions themselves fail
    );
  }, [kind, namespace, name]);
  return rights;
}

function tabsOf(kind, object) {
  const tabs = [["yaml", "YAML"], ["fields", "Fields"]];
  if (kind.verbs.includes("update")) tabs.push(["edit", "Edit"]);
  tabs.push(["history", "History"], ["related", "Owners"]);
  if (kind.plural === "pods" && !kind.group) tabs.push(["logs", "Logs"], ["terminal", "Terminal"]);
  else if (object.spec?.selector && object.spec?.template?.spec?.containers) tabs.push(["pods", "Pods"]);
  return tabs;
}

function OneObject({ kind, namespace, name, query }) {
  const { object, state, error, gone } = useObject(kind, namespace, name);
  const rights = useRights(kind, namespace, name);
  const [deleting, setDeleting] = useState(false);
  const [target, setTarget] = useState(null);
  useTick(AGES);
  const tab = query.tab || "yaml";
  const tabs = object ? tabsOf(kind, object) : [];
  const show = (next) => setQuery({ tab: next });

  useEffect(() => {
    document.title = `${name} · ${kind.kind} · inkube`;
  }, [kind, name]);
  useKeys({
    u: [() => go(kindHref(kind)), "Up to the list"],
    y: [() => show("yaml"), "YAML"],
    f: [() => show("fields"), "Fields"],
    e: [() => show("edit"), "Edit"],
    h: [() => show("history"), "History"],
    r: [() => show("related"), "Owners and what it owns"],
    l: [() => tabs.some(([id]) => id === "logs") && show("logs"), "Logs of a pod"],
    D: [() => setDeleting(true), "Delete"],
  });

  const choose = (problem) => {
    setTarget(problem.path);
    show("yaml");
  };
  const mayDelete = rights.delete ? rights.delete.allowed : kind.verbs.includes("delete");
  return html`
    <div class="page">
      <p class="crumbs"><a href=${kindHref(kind)}>${kind.kind}</a>${namespace && html` <span class="quiet">in</span> ${namespace}`}</p>
      <div class="head">
        <h1>${name}</h1>
        <${State} state=${state} />
        ${gone && html`<span class="chip bad">deleted</span>`}
        ${object?.metadata.deletionTimestamp && !gone && html`<span class="chip warn">is being deleted</span>`}
        ${object && html`<${Health} object=${object} />
          <span class="quiet small" title=${moment(object.metadata.creationTimestamp)}>${age(object.metadata.creationTimestamp)} old</span>`}
        <span class="grow"></span>
        ${object && html`<${Actions} object=${object} kind=${kind} namespace=${namespace} name=${name} rights=${gone ? {} : rights} />`}
        ${object && !gone && kind.verbs.includes("delete") && html`
          <button class="danger" disabled=${!mayDelete} title=${rights.delete?.reason} onClick=${() => setDeleting(true)}>Delete</button>`}
      </div>
      ${error && html`<p class="notice bad" role="alert">${error.message}</p>`}
      ${gone && !object && html`<p class="notice">There is no such object${tab === "history" ? " any more" : ""}.
        ${tab !== "history" && html`<button class="plain" onClick=${() => show("history")}>What it was</button>`}</p>`}
      ${gone && !object && tab === "history" && html`<${History} kind=${kind} namespace=${namespace} name=${name} />`}
      ${object && html`
        <${Problems} problems=${ofStatus(object)} choose=${choose} title="What checks found" />
        <${Tabs} tabs=${tabs} tab=${tab} show=${show} />
        <div class="object">
          <div id="panel" role="tabpanel" aria-labelledby="tab-${tab}" class="editor">
            <${Panel} tab=${tab} object=${object} kind=${kind} namespace=${namespace} name=${name}
              rights=${rights} target=${target} done=${() => show("yaml")} />
          </div>
          <div class="aside">
            <${Conditions} object=${object} />
            <${OwnerLinks} object=${object} namespace=${namespace} />
            <${Labels} metadata=${object.metadata} />
            <${Events} object=${object} />
          </div>
        </div>`}
      ${deleting && html`<${Delete} kind=${kind} objects=${[{ namespace, name }]} close=${() => setDeleting(false)} />`}
    </div>`;
}

function Tabs({ tabs, tab, show }) {
  const onKeyDown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex(([id]) => id === tab);
    const [next] = tabs[(at + step + tabs.length) % tabs.length];
    show(next);
    document.getElementById(`tab-${next}`).focus();
  };
  return html`
    <div class="tabs" role="tablist" aria-label="Ways to look at it" onKeyDown=${onKeyDown}>${tabs.map(([id, title]) => html`
      <button key=${id} id="tab-${id}" role="tab" aria-selected=${String(id === tab)} aria-controls="panel"
        tabindex=${id === tab ? 0 : -1} onClick=${() => show(id)}>${title}</button>`)}
    </div>`;
}

function Panel({ tab, object, kind, namespace, name, rights, target, done }) {
  switch (tab) {
    case "fields": return html`<${Fields} object=${object} kind=${kind} />`;
    case "edit": return html`<${Editor} object=${object} kind=${kind} rights=${rights} done=${done} />`;
    case "history": return html`<${History} kind=${kind} namespace=${namespace} name=${name} />`;
    case "related": return html`<${Related} object=${object} kind=${kind} />`;
    case "logs": return html`<${Logs} pod=${object} />`;
    case "terminal": return html`<${Terminal} pod=${object} />`;
    case "pods": return html`<${Pods} owner=${object} />`;
    default: return html`<${YamlView} object=${object} target=${target} />`;
  }
}

function OwnerLinks({ object, namespace }) {
  const owners = object.metadata.ownerReferences || [];
  if (!owners.length) return null;
  return html`
    <section class="card"><h2>Owned by</h2><ul>${owners.map((owner) => {
      const kind = kindOf(owner.apiVersion, owner.kind);
      const text = `${owner.kind} ${owner.name}`;
      return html`<li key=${owner.uid}>${kind ? html`<a href=${objectHref(kind, kind.namespaced ? namespace : "", owner.name)}>${text}</a>` : text}</li>`;
    })}</ul></section>`;
}

function Labels({ metadata }) {
  const labels = Object.entries(metadata.labels || {});
  if (!labels.length) return null;
  return html`
    <section class="card"><h2>Labels</h2><ul>${labels.map(([name, value]) => html`
      <li key=${name}><span class="quiet">${name}</span> ${value}</li>`)}</ul></section>`;
}
