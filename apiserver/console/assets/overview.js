// The start page: current problems, and the latest events.
import { ask } from "./api.js";
import { timeOf } from "./events.js";
import { age, moment, plural } from "./format.js";
import { html, useEffect, useMemo, useState } from "./html.js";
import { findKind, idOf, isOfModule, kinds, kindOf, listPath } from "./kinds.js";
import { useList } from "./lists.js";
import { tell } from "./notices.js";
import { typed } from "./objects.js";
import { kindHref, namespace, objectHref } from "./router.js";
import { user } from "./session.js";
import { useStore } from "./store.js";
import { useTick } from "./ticks.js";
import { LOOKED_AT, troubleOf } from "./trouble.js";

const AGES = 10; // seconds between updates of ages
const MOST = 500; // the maximum of objects per kind
const SHOWN = 25;
const USUAL = ["", "apps", "batch", "networking.k8s.io"]; // groups whose objects are counted
const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** Objects with problems: of custom kinds with a status, and of workloads. */
function useTroubled(all, space, turn) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    const control = new AbortController();
    const wanted = all.filter((kind) => kind.verbs.includes("list") &&
      ((kind.custom && kind.subresources.status) || LOOKED_AT.includes(`${kind.group}/${kind.plural}`)));
    const one = async (kind) => {
      const { items, ...list } = await listed(`${listPath(kind, space)}?limit=${MOST}`, control.signal);
      return (items || []).map((each) => [kind, typed(each, list)]);
    };
    Promise.all(wanted.map(one)).then(
      (lists) => setFound(lists.flat().filter(([, object]) => troubleOf(object))),
      (error) => control.signal.aborted || (setFound([]), tell(error.message, "bad")),
    );
    return () => control.abort();
  }, [all, space, turn]);
  return found;
}

/** The number of objects of each kind: the user's own kinds first, then the others. */
function useCounts(all, space) {
  const [found, setFound] = useState([]);
  useEffect(() => {
    const control = new AbortController();
    const one = async (kind) => {
      const { items, metadata } = await listed(`${listPath(kind, space)}?limit=1`, control.signal, METADATA);
      return [kind, (items?.length || 0) + (metadata?.remainingItemCount || 0)];
    };
    const wanted = all.filter((kind) => kind.verbs.includes("list") && (kind.custom || USUAL.includes(kind.group)));
    Promise.all(wanted.map(one)).then(setFound, (error) => control.signal.aborted || tell(error.message, "bad"));
    return () => control.abort();
  }, [all, space]);
  return found;
}

/** A list; empty if the user may not list the kind. */
async function listed(path, signal, accept) {
  try {
    return (await ask(path, { signal, accept, quiet: true })).object;
  } catch (error) {
    if (error.code >= 400 && error.code < 500) return {};
    throw error;
  }
}

function Kinds({ title, counts }) {
  if (!counts.length) return null;
  return html`
    <section class="editor"><h2>${title}</h2>
      <div class="switches">${counts.map(([kind, many]) => html`
        <a class="button" key=${idOf(kind)} href=${kindHref(kind)}>${kind.kind} <span class="quiet">${many.toLocaleString()}</span></a>`)}</div>
    </section>`;
}

export default function Overview() {
  const all = useStore(kinds) || [];
  const space = useStore(namespace);
  const { username, groups = [] } = useStore(user) || {};
  const [version, setVersion] = useState(null);
  useTick(AGES);
  const counts = useCounts(all, space);
  const { items, error } = useList(findKind("", "v1", "events"), space);
  const events = useMemo(
    () => [...items].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1)).slice(0, SHOWN), [items]);
  const newest = events[0]?.metadata.resourceVersion; // failures cause events
  const troubled = useTroubled(all, space, newest);
  useEffect(() => {
    document.title = "Overview · inkube";
    ask("/version").then(setVersion, () => {}); // only for display
  }, []);
  const about = [
    version && `answers as Kubernetes ${version.gitVersion.split("+")[0]}`,
    plural(all.length, "kind"),
    username + (groups.length ? ` (${groups.join(", ")})` : ""),
  ];
  return html`
    <div class="page">
      <div class="head"><h1>Overview</h1>
        <span class="quiet small">${about.filter(Boolean).join(" · ")}</span></div>
      <section class="editor"><h2>What is wrong</h2>
        ${troubled === null && html`<p class="quiet">Looking…</p>`}
        ${troubled?.length === 0 && html`<p class="quiet">Nothing has failed.</p>`}
        ${troubled?.length > 0 && html`
          <div class="scroll"><table class="facts"><tbody>${troubled.map(([kind, object]) => html`
            <tr key=${object.metadata.uid}><td>${kind.kind} <a href=${objectHref(kind, object.metadata.namespace, object.metadata.name)}>${object.metadata.name}</a></td>
              <td class="bad">${troubleOf(object)}</td></tr>`)}</tbody></table></div>`}
      </section>
      <${Kinds} title="Your kinds" counts=${counts.filter(([kind]) => kind.custom && !isOfModule(kind.group))} />
      <section class="editor"><h2>What happened last</h2>
        ${error && html`<p class="quiet">${error.message}</p>`}
        ${!error && !events.length && html`<p class="quiet">No events.</p>`}
        ${events.length > 0 && html`
          <div class="scroll"><table class="facts"><tbody>${events.map((event) => html`<${Happened} key=${event.metadata.uid} event=${event} />`)}</tbody></table></div>`}
      </section>
      <${Kinds} title="Kinds of Kubernetes" counts=${counts.filter(([kind, many]) => !kind.custom && many)} />
      <${Kinds} title="Kinds of modules" counts=${counts.filter(([kind]) => isOfModule(kind.group))} />
    </div>`;
}

function Happened({ event }) {
  const { involvedObject: about, reason, message, type } = event;
  const kind = kindOf(about.apiVersion || "v1", about.kind);
  const name = `${about.kind} ${about.name}`;
  const time = timeOf(event);
  return html`
    <tr><td class="quiet" title=${moment(time)}>${age(time)}</td>
      <td>${kind ? html`<a href=${objectHref(kind, kind.namespaced ? about.namespace : "", about.name)}>${name}</a>` : name}</td>
      <td class=${type === "Warning" ? "warn" : ""}>${reason}</td><td>${message}</td></tr>`;
}
