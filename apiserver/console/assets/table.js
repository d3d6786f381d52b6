// The table of a kind's objects: the server's columns, with search, sorting and live updates. Only
// visible rows are in the DOM, so it stays fast with ten thousand objects.
import { Delete } from "./deleting.js";
import { age, moment, plural } from "./format.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./html.js";
import { useKeys } from "./keys.js";
import { findKind } from "./kinds.js";
import { go, namespace, newHref, objectHref, setQuery } from "./router.js";
import { followTable, select } from "./rows.js";
import { kept, store, useStore } from "./store.js";
import { useTick } from "./ticks.js";

const ROW = 32; // pixels, as in style.css
const CARD_LINE = 22; // pixels of a line of a card, which is shown in place of a row on narrow pages
const NARROW = matchMedia("(max-width: 720px)"); // as in style.css
const narrow = store(NARROW.matches);
NARROW.addEventListener("change", ({ matches }) => narrow.set(matches));
const AGES = 10; // seconds between updates of ages
const AROUND = 8; // rows above and below the visible ones
const wide = kept("wide", false);

export default function TablePage({ parts, query }) {
  const kind = findKind(parts[0] === "core" ? "" : parts[0], parts[1], parts[2]);
  if (!kind) return html`<h1>${parts[2]}</h1><p class="bad">The server has no such kind.</p>`;
  return html`<${KindTable} kind=${kind} query=${query} />`;
}

function KindTable({ kind, query }) {
  const space = useStore(namespace);
  const [table, setTable] = useState({ rows: new Map(), columns: [], state: "loading", turn: 0 });
  const [cursor, setCursor] = useState("");
  const [chosen, setChosen] = useState(new Set());
  const [deleting, setDeleting] = useState(false);
  const search = useRef();
  const all = useStore(wide);
  useTick(AGES);

  useEffect(() => {
    let turn = 0;
    return followTable(kind, space, (found) => setTable({ ...found, turn: ++turn }));
  }, [kind, space]);
  useEffect(() => {
    document.title = `${kind.kind} · inkube`;
  }, [kind]);

  const columns = useMemo(() => toColumns(table.columns, kind, space, all), [table.columns, kind, space, all]);
  const sorted = columns.find((each) => each.name === (query.sort || "").replace(/^-/, ""));
  const descending = (query.sort || "").startsWith("-");
  const rows = useMemo(
    () => select(table.rows, query.q || "", sorted ? sorted.at : -1, descending, sorted?.isAge),
    [table.turn, query.q, sorted, descending],
  );
  const at = rows.findIndex((row) => row.key === cursor);
  const step = (by) => rows.length && setCursor(rows[Math.min(Math.max(at + by, 0), rows.length - 1)].key);
  const open = (tab) => {
    const row = rows[at];
    if (row) go(objectHref(kind, row.namespace, row.name, tab));
  };
  const canDelete = kind.verbs.includes("delete");
  const selected = rows.filter((row) => chosen.has(row.key));
  const turn = (key) => setChosen((before) => {
    const next = new Set(before);
    if (!next.delete(key)) next.add(key);
    return next;
  });
  const canCreate = kind.verbs.includes("create");
  useKeys({
    j: [() => step(1), "Next row"],
    k: [() => step(-1), "Row before"],
    ArrowDown: [() => step(1), ""],
    ArrowUp: [() => step(-1), ""],
    PageDown: [() => step(20), ""],
    PageUp: [() => step(-20), ""],
    "g g": [() => step(-Infinity), "First row"],
    G: [() => step(Infinity), "Last row"],
    o: [() => open(), "Open the row"],
    e: [() => open("edit"), "Edit the row"],
    x: [() => canDelete && rows[at] && turn(rows[at].key), "Select the row"],
    D: [() => selected.length && setDeleting(true), "Delete what is selected"],
    w: [() => wide.set(!wide.get()), "All columns, or the usual"],
    "/": [() => search.current.focus(), "Search"],
    c: [() => canCreate && go(newHref(kind)), "Create"],
    Escape: [() => setQuery({ q: "" }), ""],
  });

  const sort = (column) =>
    setQuery({ sort: query.sort === column.name ? `-${column.name}` : column.name });
  const onSearchKey = (event) => {
    if (event.key === "Enter" || event.key === "Escape") event.target.blur();
    if (event.key === "Enter" && rows.length) setCursor(rows[0].key);
  };
  const hasMore = table.columns.some((each) => each.priority > 0);
  return html`
    <div class="page table-page">
      <div class="head">
        <h1>${kind.kind}<span class="quiet small"> ${kind.group || "core"}/${kind.version}</span></h1>
        <${State} state=${table.state} />
        <span class="grow"></span>
        <input ref=${search} type="search" class="search" aria-label="Search ${kind.plural}" placeholder="Search  /"
          value=${query.q || ""} spellcheck=${false}
          onInput=${(event) => setQuery({ q: event.target.value })}
          onKeyDown=${onSearchKey} />
        <select class="sort" aria-label="Sort by" value=${query.sort || ""} onChange=${(event) => setQuery({ sort: event.target.value })}>
          <option value="">sort by name</option>
          ${columns.slice(1).flatMap(({ name }) => [[name, `${name} ↑`], [`-${name}`, `${name} ↓`]]).map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
        </select>
        <span class="count" aria-live="polite" data-total=${table.rows.size}>${count(rows.length, table.rows.size, kind)}</span>
        ${selected.length > 0 && html`
          <button onClick=${() => setChosen(new Set(selected.length < rows.length ? rows.map((row) => row.key) : []))}>${selected.length < rows.length ? "Select all" : "Select none"}</button>
          <button class="danger" onClick=${() => setDeleting(true)}>Delete ${selected.length}</button>`}
        ${hasMore && html`<button aria-pressed=${String(all)} onClick=${() => wide.set(!all)}>All columns</button>`}
        ${canCreate && html`<a class="button" href=${newHref(kind)}>Create</a>`}
      </div>
      ${table.error && html`<p class="notice bad" role="alert">${table.error.message}</p>`}
      ${!table.error && html`<${Grid} kind=${kind} rows=${rows} columns=${columns} cursor=${cursor}
        chosen=${chosen} choose=${canDelete ? turn : null} sort=${sort} sorted=${sorted} descending=${descending} state=${table.state} />`}
      ${deleting && html`<${Delete} kind=${kind} objects=${selected} close=${() => setDeleting(false)} done=${() => setChosen(new Set())} />`}
    </div>`;
}

const count = (shown, total, kind) =>
  shown === total ? plural(total, "object") : `${shown.toLocaleString()} of ${plural(total, "object")}`;

/** Whether the shown rows are up to date. */
export function State({ state }) {
  const words = { loading: "loading", live: "live", lost: "connection lost", past: "past" };
  return html`<span class="state ${state}" role="status"><i aria-hidden="true"></i>${words[state]}</span>`;
}

function toColumns(definitions, kind, space, all) {
  const shown = definitions
    .map((each, at) => ({ ...each, at, isAge: each.name === "Age" && each.type !== "integer" }))
    .filter((each) => all || each.priority === 0);
  if (!kind.namespaced || space || !shown.length) return shown;
  const place = { name: "Namespace", at: -2, description: "Where the object is", type: "string" };
  return [shown[0], place, ...shown.slice(1)];
}

function textOf(row, column) {
  if (column.at === -2) return row.namespace;
  if (column.isAge) return age(row.metadata.creationTimestamp);
  const cell = row.cells[column.at];
  return cell == null ? "" : String(cell);
}

/** Widths in pixels, from the longest cells of some rows. */
function widths(columns, rows) {
  const sample = rows.length > 200 ? rows.filter((_, at) => at % Math.ceil(rows.length / 200) === 0) : rows;
  return columns.map((column, index) => {
    const lengths = sample.map((row) => textOf(row, column).length);
    const longest = Math.max(column.name.length + 2, ...lengths);
    return Math.min(Math.max(longest, 5), index ? 36 : 44) * 7.6 + (index ? 26 : 48);
  });
}

function Grid({ kind, rows, columns, cursor, chosen, choose, sort, sorted, descending, state }) {
  const box = useRef();
  const [view, setView] = useState({ top: 0, height: 800 });
  const cards = useStore(narrow);
  // a card has the name, and two cells on each further line
  const height = cards ? ROW + CARD_LINE * Math.ceil((columns.length - 1) / 2) + 8 : ROW;
  const look = () => {
    const { scrollTop, clientHeight } = box.current;
    setView((before) =>
      before.top === scrollTop && before.height === clientHeight
        ? before : { top: scrollTop, height: clientHeight });
  };
  useLayoutEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const sizes = useMemo(() => widths(columns, rows), [columns, Math.ceil(Math.log2(rows.length + 1))]);

  useLayoutEffect(() => {
    const at = rows.findIndex((row) => row.key === cursor);
    if (at < 0) return;
    const { scrollTop, clientHeight } = box.current;
    const top = at * height;
    if (top < scrollTop) box.current.scrollTop = top;
    if (top + height + ROW > scrollTop + clientHeight) box.current.scrollTop = top + height + ROW - clientHeight + 12;
    look();
    requestAnimationFrame(() =>
      box.current?.querySelector("tr[data-cursor] a")?.focus({ preventScroll: true }));
  }, [cursor]);

  const first = Math.max(0, Math.floor(view.top / height) - AROUND);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / height) + AROUND);
  const shown = rows.slice(first, last);
  return html`
    <div class="grid" ref=${box} onScroll=${look} tabindex="0" role="region" aria-label="${kind.plural}">
      <table aria-rowcount=${rows.length + 1} aria-busy=${String(state === "loading")}
        style=${{ minWidth: cards ? "0" : `${Math.ceil(sizes.reduce((sum, each) => sum + each, 0))}px` }}>
        <colgroup>${columns.map((column, index) => html`
          <col key=${column.name} style=${{ width: `${Math.ceil(sizes[index])}px` }} />`)}</colgroup>
        <thead><tr aria-rowindex="1">${columns.map((column) => html`
          <th key=${column.name} scope="col" title=${column.description}
            aria-sort=${sorted === column ? (descending ? "descending" : "ascending") : undefined}>
            <button class="plain" onClick=${() => sort(column)}>${column.name}${sorted === column ? (descending ? " ↓" : " ↑") : ""}</button>
          </th>`)}</tr></thead>
        <tbody>
          ${first > 0 && html`<tr key="above" aria-hidden="true"><td style=${{ height: `${first * height}px` }}></td></tr>`}
          ${shown.map((row, index) => html`
            <${Line} key=${row.key} height=${cards ? height : 0} row=${row} kind=${kind} columns=${columns} index=${first + index} current=${row.key === cursor}
              chosen=${chosen.has(row.key)} choose=${choose} />`)}
          ${last < rows.length && html`<tr key="below" aria-hidden="true"><td style=${{ height: `${(rows.length - last) * height}px` }}></td></tr>`}
        </tbody>
      </table>
      ${!rows.length && state === "live" && html`<p class="empty">Nothing here.</p>`}
    </div>`;
}

function Line({ height, row, kind, columns, index, current, chosen, choose }) {
  const flash = row.changes ? `changed-${row.changes % 2}` : "";
  const leaving = row.metadata.deletionTimestamp ? "leaving" : "";
  return html`
    <tr aria-rowindex=${index + 2} class="row ${flash} ${leaving}" style=${{ height: height ? `${height}px` : "" }} data-cursor=${current ? "" : undefined}>
      ${columns.map((column, at) => {
        const text = textOf(row, column);
        const title = column.isAge ? moment(row.metadata.creationTimestamp) : text;
        if (at > 0) return html`<td key=${column.name} title=${title} data-label=${column.name} class=${column.type === "integer" || column.type === "number" ? "figure" : ""}>${text}</td>`;
        return html`
          <th key=${column.name} scope="row" title=${text}>${choose && html`<input type="checkbox" aria-label="Select ${text}" checked=${chosen} onChange=${() => choose(row.key)} />`}<a href=${objectHref(kind, row.namespace, row.name)}>${text}</a>
            ${row.problems > 0 && html`<span class="chip bad">${plural(row.problems, "error")}</span>`}</th>`;
      })}
    </tr>`;
}
