// Differences between two texts, by lines (Myers, "An O(ND) difference algorithm", 1986).
import { html } from "./html.js";

const MOST = 4000; // steps: texts with more differences are shown as replaced
const CONTEXT = 3;

/** `[sort, line]`, where sort is " ", "+" or "-". */
export function diffLines(before, after) {
  const a = before ? before.split("\n") : [];
  const b = after ? after.split("\n") : [];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const middle = middleOf(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const same = (lines) => lines.map((line) => [" ", line]);
  return [...same(a.slice(0, head)), ...middle, ...same(a.slice(a.length - tail))];
}

function middleOf(a, b) {
  const trace = [];
  const ends = new Map([[1, 0]]);
  const most = Math.min(a.length + b.length, MOST);
  for (let d = 0; d <= most; d++) {
    trace.push(new Map(ends));
    for (let k = -d; k <= d; k += 2) {
      let x = isDown(ends, k, d) ? ends.get(k + 1) : ends.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      ends.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkBack(trace, a, b);
    }
    if (trace.length * d > MOST * 100) break;
  }
  return [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
}

const isDown = (ends, k, d) => k === -d || (k !== d && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));

function walkBack(trace, a, b) {
  const found = [];
  let x = a.length;
  let y = b.length;
  for (let d = trace.length - 1; d >= 0; d--) {
    const ends = trace[d];
    const k = x - y;
    const down = isDown(ends, k, d);
    const from = down ? k + 1 : k - 1;
    const startX = d === 0 ? 0 : ends.get(from);
    const startY = d === 0 ? 0 : startX - from;
    while (x > startX && y > startY && (d === 0 || x > (down ? startX : startX + 1))) {
      if (a[x - 1] !== b[y - 1]) break;
      found.push([" ", a[--x]]);
      y--;
    }
    if (d === 0) break;
    if (down) found.push(["+", b[--y]]);
    else found.push(["-", a[--x]]);
  }
  return found.reverse();
}

/** The number of lines that differ. */
export const countChanges = (lines) => lines.filter(([sort]) => sort !== " ").length;

/** Differences with some lines of context. */
export function Diff({ before, after, label = "Differences" }) {
  const lines = diffLines(before, after);
  const near = new Set();
  lines.forEach(([sort], at) => {
    if (sort !== " ") for (let each = at - CONTEXT; each <= at + CONTEXT; each++) near.add(each);
  });
  if (!near.size) return html`<p class="quiet">No differences.</p>`;
  const rows = [];
  let skipped = 0;
  const gap = () => {
    if (skipped) rows.push(html`<div class="gap">${skipped} unchanged</div>`);
    skipped = 0;
  };
  lines.forEach(([sort, line], at) => {
    if (!near.has(at)) return void skipped++;
    gap();
    const names = { "+": "added", "-": "removed", " ": "" };
    rows.push(html`<div class=${names[sort]}>${sort} ${line}</div>`);
  });
  gap();
  return html`<div class="diff" role="region" tabindex="0" aria-label=${label}>${rows}</div>`;
}
