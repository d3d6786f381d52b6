// The start page: the state of the server, its problems, kinds, changes and events.
import { activity, useActivity, writers } from "./activity.js";
import { ask, query } from "./api.js";
import { timeOf } from "./events.js";
import { figures, useFigures } from "./figures.js";
import { age, moment, plural } from "./format.js";
import { html, useEffect, useMemo, useState } from "./html.js";
import { findKind, idOf, isOfModule, kinds, kindOf, listPath } from "./kinds.js";
import { useList } from "./lists.js";
import { tell } from "./notices.js";
import { typed } from "./objects.js";
import { atMoment, past } from "./past.js";
import { kindHref, namespace, objectHref } from "./router.js";
import { user } from "./session.js";
import { useStore } from "./store.js";
import { useTick } from "./ticks.js";
import { Timeline } from "./timeline.js";
import { LOOKED_AT, troubleOf } from "./trouble.js";

const AGES = 10; // seconds between updates of ages
const MOST = 500; // the maximum of objects per kind
const SHOWN = 25;
const WORKLOADS = ["deployments", "statefulsets", "daemonsets"];
const USUAL = ["", "apps", "batch", "networking.k8s.io"]; // groups whose objects are counted
const BEGAN = "/api/v1/namespaces/kube-system"; // the first object of a server
const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** Objects with problems: of custom kinds with a status, and of workloads. */
function useTroubled(all, space, turn) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    const control = new AbortController();
    const wanted = all.filter((kind) => kind.verbs.includes("list") &&
      ((kind.custom && kind.subresources.status) || LOOKED_AT.includes(`${kind.group}/${kind.plural}`)));
    const one = async (kind) => {
      const { items, ...list } = await listed(listPath(kind, space), MOST, control.signal);
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

/** Ready and wanted pods of all workloads that want some; null before the lists are there. */
function useWorkloads(space, turn) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    const control = new AbortController();
    const one = async (plural) => {
      const kind = findKind("apps", "v1", plural);
      return kind ? (await listed(listPath(kind, space), MOST, control.signal)).items || [] : [];
    };
    Promise.all(WORKLOADS.map(one)).then(
      (lists) => setFound(lists.flat().map(replicas)),
      (error) => control.signal.aborted || tell(error.message, "bad"),
    );
    return () => control.abort();
  }, [space, turn]);
  return found;
}

/** The ready and the wanted pods of a workload. */
const replicas = ({ spec, status = {} }) =>
  [status.readyReplicas ?? status.numberReady ?? 0, status.desiredNumberScheduled ?? spec.replicas ?? 1];

const sum = (numbers) => numbers.reduce((all, each) => all + each, 0);

/** The state of the server at a glance. Only workloads are known of the past. */
function Glance({ workloads, began }) {
  const isPast = useStore(past);
  const now = useStore(figures);
  const found = useStore(activity);
  const full = workloads?.filter(([ready, wanted]) => ready >= wanted).length;
  const size = now?.bytes > 0 ? `${(now.bytes / 2 ** 20).toFixed(1)} MiB` : "in memory";
  return html`
    <section class="editor"><h2>State</h2>
      <dl class="glance">
        <${Figure} name="Workloads ready" value=${workloads === null ? "…" : `${full} of ${workloads.length}`}
          more=${workloads && `${sum(workloads.map(([ready]) => ready))} of ${plural(sum(workloads.map(([, wanted]) => wanted)), "pod")}`} />
        ${!isPast && now && html`
          <${Figure} name="Objects" value=${sum([...now.objects.values()]).toLocaleString()}
            more=${[size, began && `${age(began)} old`].filter(Boolean).join(", ")} />
          <${Figure} name="Requests" value="${(now.rates.at(-1) ?? 0).toFixed(1)} a second"
            more="${plural(now.errors, "error")}, ${now.slow.toLocaleString()} slow" />`}
        ${!isPast && found && html`<${Watches} watches=${found.watches} /><${Writers} changes=${found.changes} />`}
      </dl>
      ${!isPast && now?.rates.length > 1 && html`<${Plot} rates=${now.rates} faulty=${now.faulty} />`}
    </section>`;
}

const Figure = ({ name, value, more }) => html`
  <div><dt>${name}</dt><dd>${value}</dd><dd class="quiet small">${more}</dd></div>`;

/** The open watches, and the client with the most. */
function Watches({ watches }) {
  const [most] = Object.entries(watches);
  return html`<${Figure} name="Open watches" value=${sum(Object.values(watches)).toLocaleString()}
    more=${most && `${most[1]} by ${shortAgent(most[0])}`} />`;
}

/** `kubectl` of `kubectl/v1.36.2 (linux/amd64) kubernetes/…`; every browser is `a browser`. */
const shortAgent = (text) => (text.startsWith("Mozilla/") ? "a browser" : text.split("/")[0] || "an unnamed client");

/** Who writes most, of the changes that are known. */
function Writers({ changes }) {
  const [most] = writers(changes);
  return most && html`<${Figure} name="Writes most" value=${most[0]} more="${most[1]} of ${plural(changes.length, "change")}" />`;
}

/** The requests of the last minutes as bars, with errors and slow ones in front. */
function Plot({ rates, faulty }) {
  const top = Math.max(...rates, 1);
  const bars = (name, values) => values.map((value, at) => html`
    <rect key=${name + at} class=${name} x=${at * 4} width="3" y=${40 - (40 * value) / top} height=${(40 * value) / top} />`);
  return html`
    <svg class="plot" viewBox="0 0 240 40" role="img"
      aria-label="Requests a second, at most ${top.toFixed(1)}; errors and slow requests, at most ${Math.max(...faulty).toFixed(1)}">
      ${bars("", rates)}${bars("faulty", faulty)}
    </svg>`;
}

/** The number of objects of each kind: the user's own kinds first, then the others. */
function useCounts(all, space) {
  const [found, setFound] = useState([]);
  useEffect(() => {
    const control = new AbortController();
    const one = async (kind) => {
      const { items, metadata } = await listed(listPath(kind, space), 1, control.signal, METADATA);
      return [kind, (items?.length || 0) + (metadata?.remainingItemCount || 0)];
    };
    const wanted = all.filter((kind) => kind.verbs.includes("list") && (kind.custom || USUAL.includes(kind.group)));
    Promise.all(wanted.map(one)).then(setFound, (error) => control.signal.aborted || tell(error.message, "bad"));
    return () => control.abort();
  }, [all, space]);
  return found;
}

/** A list; empty if the user may not list the kind. */
async function listed(path, limit, signal, accept) {
  try {
    return (await ask(path + query({ limit, ...atMoment() }), { signal, accept, quiet: true })).object;
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
  const [began, setBegan] = useState("");
  useTick(AGES);
  const counts = useCounts(all, space);
  const { items, error } = useList(findKind("", "v1", "events"), space);
  const events = useMemo(
    () => [...items].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1)).slice(0, SHOWN), [items]);
  const newest = events[0]?.metadata.resourceVersion; // failures cause events
  const troubled = useTroubled(all, space, newest);
  const workloads = useWorkloads(space, newest);
  useFigures();
  useActivity();
  useEffect(() => {
    document.title = "Overview · inkube";
    ask("/version").then(setVersion, () => {}); // only for display
    ask(BEGAN, { accept: METADATA.replace("List", "") }).then(({ metadata }) => setBegan(metadata.creationTimestamp), () => {});
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
      <${Glance} workloads=${workloads} began=${began} />
      <section class="editor"><h2>Problems</h2>
        ${troubled === null && html`<p class="quiet">Looking…</p>`}
        ${troubled?.length === 0 && html`<p class="quiet">Nothing has failed.</p>`}
        ${troubled?.length > 0 && html`
          <div class="scroll"><table class="facts stacked"><tbody>${troubled.map(([kind, object]) => html`
            <tr key=${object.metadata.uid}><td>${kind.kind} <a href=${objectHref(kind, object.metadata.namespace, object.metadata.name)}>${object.metadata.name}</a></td>
              <td class="bad">${troubleOf(object)}</td></tr>`)}</tbody></table></div>`}
      </section>
      <${Kinds} title="Your kinds" counts=${counts.filter(([kind]) => kind.custom && !isOfModule(kind.group))} />
      <${Kinds} title="Kubernetes kinds" counts=${counts.filter(([kind, many]) => !kind.custom && many)} />
      <${Kinds} title="Module kinds" counts=${counts.filter(([kind]) => isOfModule(kind.group))} />
      <${Timeline} />
      <section class="editor"><h2>Recent events</h2>
        ${error && html`<p class="quiet">${error.message}</p>`}
        ${!error && !events.length && html`<p class="quiet">No events.</p>`}
        ${events.length > 0 && html`
          <div class="scroll"><table class="facts stacked"><tbody>${events.map((event) => html`<${Happened} key=${event.metadata.uid} event=${event} />`)}</tbody></table></div>`}
      </section>
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
