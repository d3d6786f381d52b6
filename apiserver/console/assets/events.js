// The events about an object, the newest first, with live updates.
import { age, moment } from "./format.js";
import { html } from "./html.js";
import { findKind } from "./kinds.js";
import { useList } from "./lists.js";

const SHOWN = 30;

export const timeOf = (event) =>
  event.series?.lastObservedTime || event.lastTimestamp || event.eventTime || event.metadata.creationTimestamp;

export function Events({ object }) {
  const { uid, namespace } = object.metadata;
  const kind = findKind("", "v1", "events");
  const asked = { fieldSelector: `involvedObject.uid=${uid}` };
  const { items, error } = useList(kind, namespace || "default", asked);
  if (error) return null; // users without the right to read events see none
  const events = items.sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1));
  return html`
    <section class="card"><h2>Events</h2>
      ${!events.length && html`<p class="quiet small">None.</p>`}
      <ul>${events.slice(0, SHOWN).map((each) => html`<${Event} key=${each.metadata.uid} event=${each} />`)}</ul>
    </section>`;
}

function Event({ event }) {
  const { reason, message, type, count } = event;
  const time = timeOf(event);
  return html`
    <li><b class=${type === "Warning" ? "warn" : ""}>${reason}</b>
      <span class="quiet" title=${moment(time)}> ${age(time)}${count > 1 ? ` ×${count}` : ""}</span>
      <div>${message}</div></li>`;
}
