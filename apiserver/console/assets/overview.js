// Where a visit begins: what is wrong, and what happened last.
import { ask } from "./api.js";
import { timeOf } from "./events.js";
import { age, moment, plural } from "./format.js";
import { html, useEffect, useMemo, useState } from "./html.js";
import { findKind, idOf, kinds, kindOf, listPath } from "./kinds.js";
import { useList } from "./lists.js";
import { typed } from "./objects.js";
import { kindHref, namespace, objectHref } from "./router.js";
import { user } from "./session.js";
import { useStore } from "./store.js";
import { useTick } from "./ticks.js";

const AGES = 10; // seconds after which ages are told anew
const MOST = 500; // objects of one kind that are looked at
const SHOWN = 25;

/** The objects of custom kinds whose checks found something. */
function useTroubled(all, space) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    const control = new AbortController();
    const wanted = all.filter((kind) => kind.custom && kind.subresources.status && kind.verbs.includes("list"));
    const one = async (kind) => {
      const asked = { signal: control.signal, quiet: true };
      try {
        const { object: list } = await ask(`${listPath(kind, space)}?limit=${MOST}`, asked);
        return list.items.map((each) => [kind, typed(each, list)]);
      } catch (error) {
        if (error.code === 403) return [];
        throw error;
      }
    };
    Promise.all(wanted.map(one)).then(
      (lists) => setFound(lists.flat().filter(([, object]) => troubleOf(object))),
      () => control.signal.aborted || setFound([]),
    );
    return () => control.abort();
  }, [all, space]);
  return found;
}

function troubleOf({ status }) {
  const errors = status?.fieldErrors || [];
  if (errors.length) return errors.map((each) => `${each.field}: ${each.detail}`).join("; ");
  if (status?.health?.healthy === false) return [status.health.message].flat().filter(Boolean).join("; ") || "unhealthy";
  return "";
}

export default function Overview() {
  const all = useStore(kinds) || [];
  const space = useStore(namespace);
  const { username, groups = [] } = useStore(user) || {};
  const [version, setVersion] = useState(null);
  useTick(AGES);
  const troubled = useTroubled(all, space);
  const { items, error } = useList(findKind("", "v1", "events"), space);
  const events = useMemo(
    () => [...items].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1)).slice(0, SHOWN), [items]);
  useEffect(() => {
    document.title = "Overview · inkube";
    ask("/version").then(setVersion, () => {}); // it is only told
  }, []);
  const about = [
    version && `answers as Kubernetes ${version.gitVersion.split("+")[0]}`,
    plural(all.length, "kind"),
    username + (groups.length ? ` (${groups.join(", ")})` : ""),
  ];
  const own = all.filter((kind) => kind.custom && kind.verbs.includes("list"));
  return html`
    <div class="page">
      <div class="head"><h1>Overview</h1>
        <span class="quiet small">${about.filter(Boolean).join(" · ")}</span></div>
      <section class="editor"><h2>What is wrong</h2>
        ${troubled === null && html`<p class="quiet">Looking…</p>`}
        ${troubled?.length === 0 && html`<p class="quiet">No check has found anything.</p>`}
        ${troubled?.length > 0 && html`
          <div class="scroll"><table class="facts"><tbody>${troubled.map(([kind, object]) => html`
            <tr key=${object.metadata.uid}><td>${kind.kind} <a href=${objectHref(kind, object.metadata.namespace, object.metadata.name)}>${object.metadata.name}</a></td>
              <td class="bad">${troubleOf(object)}</td></tr>`)}</tbody></table></div>`}
      </section>
      ${own.length > 0 && html`
        <section class="editor"><h2>Your kinds</h2>
          <div class="switches">${own.map((kind) => html`<a class="button" key=${idOf(kind)} href=${kindHref(kind)}>${kind.kind}</a>`)}</div></section>`}
      <section class="editor"><h2>What happened last</h2>
        ${error && html`<p class="quiet">${error.message}</p>`}
        ${!error && !events.length && html`<p class="quiet">No events.</p>`}
        ${events.length > 0 && html`
          <div class="scroll"><table class="facts"><tbody>${events.map((event) => html`<${Happened} key=${event.metadata.uid} event=${event} />`)}</tbody></table></div>`}
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
