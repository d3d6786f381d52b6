// Conditions and health in the status of objects.
import { age, moment } from "./format.js";
import { html } from "./html.js";

// conditions for which False is the good state
const ADVERSE = /Pressure|Failure|Failed|Unavailable|Degraded|Terminating|Stalled|Blocked/;

function sortOf({ type, status }) {
  if (status === "Unknown") return "warn";
  return (status === "True") !== ADVERSE.test(type) ? "good" : "bad";
}

export function Health({ object }) {
  const { health, phase } = object.status || {};
  if (health) return html`<span class="chip ${health.healthy ? "good" : "bad"}">${health.healthy ? "healthy" : "unhealthy"}</span>`;
  return phase ? html`<span class="chip">${String(phase)}</span>` : null;
}

export function Conditions({ object }) {
  const conditions = object.status?.conditions;
  if (!Array.isArray(conditions) || !conditions.length) return null;
  return html`
    <section class="card"><h2>Conditions</h2><ul>${conditions.map((each) => html`
      <li key=${each.type}><span class="chip ${sortOf(each)}">${each.type} ${each.status}</span>
        ${each.lastTransitionTime && html`<span class="quiet small" title=${moment(each.lastTransitionTime)}> ${age(each.lastTransitionTime)}</span>`}
        ${(each.message || each.reason) && html`<div class="quiet small">${each.reason}${each.message ? `: ${each.message}` : ""}</div>`}</li>`)}
    </ul></section>`;
}
