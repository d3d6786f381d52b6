// The changes of the store over time. A part of the time can be selected, by dragging or with two
// sliders; its changes are listed, and the console can show the server as it was at its end.
import { activity, parts, writers } from "./activity.js";
import { clockTime, plural } from "./format.js";
import { html, useMemo, useRef, useState } from "./html.js";
import { kindOf } from "./kinds.js";
import { past } from "./past.js";
import { objectHref } from "./router.js";
import { useStore } from "./store.js";

const PARTS = 60;
const SHOWN = 25;
const NAMES = { ADDED: "created", MODIFIED: "changed", DELETED: "deleted" };

export function Timeline() {
  const changes = (useStore(activity)?.changes || []).filter((each) => each.time);
  const [selected, setSelected] = useState(null); // [from, to] in milliseconds; null is everything
  const { first, step, counts } = useMemo(() => parts(changes, PARTS), [changes.length, changes.at(-1)]);
  if (!changes.length) return null;
  const partOf = (time) => Math.min(Math.max(Math.round((time - first) / step), 0), PARTS);
  const [from, to] = selected ? selected.map(partOf) : [0, PARTS];
  const select = (a, b) => {
    const [low, high] = a < b ? [a, b] : [b, a];
    setSelected(low === 0 && high === PARTS ? null : [first + low * step, first + high * step]);
  };
  const inside = selected
    ? changes.filter((each) => Date.parse(each.time) >= selected[0] && Date.parse(each.time) <= selected[1]) : changes;
  const upTo = selected ? changes.findLast((each) => Date.parse(each.time) <= selected[1]) : null;
  const show = () => past.set({ revision: upTo.revision, time: upTo.time });
  return html`
    <section class="editor"><h2>Changes</h2>
      <${Brush} counts=${counts} from=${from} to=${to} select=${select} />
      <div class="sliders">
        ${[["From", from, (at) => select(Math.min(at, to - 1), to)], ["To", to, (at) => select(from, Math.max(at, from + 1))]].map(([label, value, move]) => html`
          <label key=${label}>${label} <input type="range" min="0" max=${PARTS} value=${value} aria-valuetext=${clockTime(first + value * step)}
            onInput=${(event) => move(Number(event.target.value))} /> <span class="quiet small">${clockTime(first + value * step)}</span></label>`)}
      </div>
      <div class="bar">
        <span class="quiet small">${plural(inside.length, "change")}${by(inside)}</span><span class="grow"></span>
        ${selected && html`<button onClick=${() => setSelected(null)}>Select all</button>`}
        <button disabled=${!upTo} title="Show all objects as they were at the end of the selection" onClick=${show}>Go to this time</button>
      </div>
      <div class="scroll"><table class="facts stacked"><tbody>${inside.slice(-SHOWN).reverse().map((each) => html`
        <${Change} key=${each.revision} change=${each} />`)}</tbody></table></div>
    </section>`;
}

function by(changes) {
  const most = writers(changes).slice(0, 3);
  return most.length ? `, most by ${most.map(([name, many]) => `${name} (${many})`).join(", ")}` : "";
}

/** Bars, of which dragging selects some. The two sliders below do the same for the keyboard. */
function Brush({ counts, from, to, select }) {
  const box = useRef();
  const start = useRef(null);
  const top = Math.max(...counts);
  const partAt = (event) => {
    const { left, width } = box.current.getBoundingClientRect();
    return Math.min(Math.max(((event.clientX - left) / width) * PARTS, 0), PARTS);
  };
  const begin = (event) => {
    start.current = partAt(event);
    box.current.setPointerCapture(event.pointerId);
  };
  const move = (event) => {
    if (start.current === null) return;
    const [a, b] = [start.current, partAt(event)].sort((x, y) => x - y);
    select(Math.floor(a), Math.ceil(b));
  };
  const end = (event) => {
    move(event);
    start.current = null;
  };
  return html`
    <svg ref=${box} class="plot brush" viewBox="0 0 ${PARTS * 4} 40" preserveAspectRatio="none" role="img"
      aria-label="Changes over time" onPointerDown=${begin} onPointerMove=${move} onPointerUp=${end}>
      ${counts.map((count, at) => html`<rect key=${at} class=${at >= from && at < to ? "" : "outside"}
        x=${at * 4} width="3" y=${40 - (40 * count) / top} height=${(40 * count) / top} />`)}
    </svg>`;
}

function Change({ change }) {
  const { apiVersion, kind: name, namespace, managers, time, type, revision } = change;
  const kind = kindOf(apiVersion, name);
  const text = `${name} ${change.name}`;
  return html`
    <tr><td class="quiet">${clockTime(time)}</td>
      <td>${kind ? html`<a href=${objectHref(kind, namespace, change.name, "history")}>${text}</a>` : text}</td>
      <td class=${type === "DELETED" ? "warn" : ""}>${NAMES[type]}</td>
      <td class="quiet">${[...managers, `revision ${revision}`].join(" · ")}</td></tr>`;
}

/** Says that the console shows the past, and leads back. */
export function PastNotice() {
  const shown = useStore(past);
  if (!shown) return null;
  return html`
    <div class="past" role="status"><span>The server at ${clockTime(shown.time)}, revision ${shown.revision}. Changes that you make apply to the present.</span>
      <button onClick=${() => past.set(null)}>Return to now</button></div>`;
}
