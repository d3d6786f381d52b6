// The rows of a table with live updates: a list in pages, then its watch, with few renderings.
import { isCustom, listPath } from "./kinds.js";
import { follow } from "./watch.js";

const TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";
const PAGE = 2000;
const GATHER = 120; // milliseconds: changes within this time are rendered together

/**
 * One row; `changes` counts its changes since the page was opened.
 * @typedef {{key: string, name: string, namespace: string, cells: any[], metadata: any,
 *   problems: number, changes: number, text: string}} Row
 */

/**
 * Follow the table of a kind in a namespace. Calls `onChange({rows, columns, state, error})`
 * soon after a change; `rows` is always the same Map.
 * @returns {() => void} stops it
 */
export function followTable(kind, namespace, onChange) {
  /** @type {Map<string, Row>} */
  const rows = new Map();
  let columns = [];
  let state = "loading";
  let error = null;
  let timer = 0;

  const show = () => {
    timer = 0;
    onChange({ rows, columns, state, error });
  };
  const soon = () => {
    timer ||= setTimeout(show, GATHER);
  };
  const now = () => {
    clearTimeout(timer);
    show();
  };
  const put = (row, fresh) => {
    const made = toRow(row);
    const before = rows.get(made.key);
    made.changes = before ? before.changes + 1 : fresh ? 1 : 0;
    rows.set(made.key, made);
  };
  const sink = {
    reset: () => rows.clear(),
    page(table) {
      columns = table.columnDefinitions;
      for (const row of table.rows || []) put(row, false);
      now();
    },
    listed: now,
    event(type, table) {
      if (table.columnDefinitions) columns = table.columnDefinitions;
      for (const row of table.rows) {
        if (type === "DELETED") rows.delete(keyOf(row.object.metadata));
        else put(row, true);
      }
      soon();
    },
    state(next) {
      state = next;
      now();
    },
    failed(found) {
      error = found;
      now();
    },
  };
  // results of checks are in the object itself; for built-in kinds metadata suffices
  const includeObject = isCustom(kind.group) ? "Object" : "Metadata";
  const stop = follow(listPath(kind, namespace), sink, {
    accept: TABLE,
    parameters: { includeObject },
    pageSize: PAGE,
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}

const keyOf = ({ namespace = "", name }) => `${namespace}/${name}`;

function toRow({ cells, object }) {
  const { metadata, status } = object;
  const { name, namespace = "" } = metadata;
  const problems = status?.fieldErrors?.length || 0;
  metadata.managedFields = undefined; // two thirds of a row's size
  return {
    key: keyOf(metadata), name, namespace, cells, metadata, problems, changes: 0,
    text: `${namespace} ${cells.join(" ")} ${labelText(metadata.labels)}`.toLowerCase(),
  };
}

const labelText = (labels) =>
  labels ? Object.entries(labels).map(([name, value]) => `${name}=${value}`).join(" ") : "";

/** The rows that contain every word of a text, sorted by a column; -1 sorts by key. */
export function select(rows, text, column, descending, isAge) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (const row of rows.values()) {
    if (words.every((word) => row.text.includes(word))) found.push(row);
  }
  const value = isAge
    ? (row) => row.metadata.creationTimestamp
    : (row) => (column < 0 ? row.key : row.cells[column]);
  const sign = (descending ? -1 : 1) * (isAge ? -1 : 1);
  return found.sort((a, b) => sign * compare(value(a), value(b)) || compare(a.key, b.key));
}

function compare(a, b) {
  if (a === b) return 0;
  if (a == null || b == null) return a == null ? -1 : 1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a) < String(b) ? -1 : 1;
}
