// The history of an object: a slider over its kept states, and the changes of each.
import { Diff } from "./diff.js";
import { clockTime } from "./format.js";
import { html, useEffect, useState } from "./html.js";
import { followKept } from "./kept.js";
import { useKeys } from "./keys.js";
import { withoutVersion } from "./objects.js";
import { dump } from "./yaml.js";

const NAMES = { KEPT: "the oldest that is kept", ADDED: "created", MODIFIED: "changed", DELETED: "deleted" };

export function History({ kind, namespace, name }) {
  const [states, setStates] = useState(null);
  const [failure, setFailure] = useState("");
  const [chosen, setChosen] = useState(-1); // -1 is always the newest
  useEffect(
    () => followKept(kind, namespace, name, { states: setStates, failed: (error) => setFailure(error.message) }),
    [kind, namespace, name],
  );
  const last = (states?.length || 0) - 1;
  const at = chosen < 0 ? last : Math.min(chosen, last);
  const move = (to) => setChosen(to >= last ? -1 : Math.max(0, to));
  useKeys({
    "[": [() => move(at - 1), "Earlier state"],
    "]": [() => move(at + 1), "Later state"],
  });
  if (failure) return html`<p class="notice bad" role="alert">${failure}</p>`;
  if (!states) return html`<p class="quiet">Reading the log…</p>`;
  if (last < 0) return html`<p class="empty">Nothing of it is kept in the log.</p>`;
  const state = states[at];
  return html`
    <div class="timeline">
      <label for="revision">State ${at + 1} of ${last + 1}</label>
      <input id="revision" type="range" min="0" max=${last} value=${at} aria-valuetext=${describe(state)}
        onInput=${(event) => move(Number(event.target.value))} />
      <p><b>${describe(state)}</b> <span class="quiet">${written(state)}</span></p>
    </div>
    <${Diff} before=${textOf(states[at - 1])} after=${state.type === "DELETED" ? "" : textOf(state)} label="What changed" />`;
}

const describe = ({ revision, type }) => `revision ${revision}, ${NAMES[type] || type}`;

const textOf = (state) => (!state || state.type === "DELETED" ? "" : dump(withoutVersion(state.object)).trimEnd());

/** The writer and time of a state, as far as managedFields contain them. */
function written({ object, type }) {
  if (type === "DELETED") return "";
  const entries = (object.metadata.managedFields || []).filter((each) => each.time);
  const latest = entries.sort((a, b) => (a.time < b.time ? 1 : -1))[0];
  return latest ? `by ${latest.manager}, ${clockTime(latest.time)}` : "";
}
