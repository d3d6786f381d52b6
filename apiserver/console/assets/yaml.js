// YAML to show and edit, with the line of every field.
import * as yaml from "./vendor/js-yaml.js";
import { keyOf } from "./paths.js";

const { ALIAS, DOCUMENT, MAPPING, POP, SCALAR, SEQUENCE } = yaml.EVENT_ID;

export const dump = (object) => yaml.dump(object, { noRefs: true, lineWidth: -1 });

/** Parse a text. Throws an Error with `line` (from 0) if it is not YAML. */
export const load = (text) => reading(() => yaml.load(text));

function reading(read) {
  try {
    return read();
  } catch (error) {
    throw Object.assign(new Error(error.reason || error.message), { line: error.mark?.line ?? 0 });
  }
}

/**
 * The lines of fields: key of a path → `{path, first, last}`, lines from 0. Throws as `load`.
 * @returns {Map<string, {path: (string|number)[], first: number, last: number}>}
 */
export function findLines(text) {
  const events = reading(() => yaml.parseEvents(text, {}));
  const lineAt = lineFinder(text);
  const found = new Map();
  const open = [];

  // `at` is where the field begins: its key, or the item itself
  const put = (path, at, end) => {
    const first = lineAt(at);
    const last = Math.max(first, lineAt(Math.max(at, end - 1)));
    found.set(keyOf(path), { path, first, last });
    for (let up = path.length - 1; up >= 0; up--) {
      const above = found.get(keyOf(path.slice(0, up)));
      if (above) above.last = Math.max(above.last, last);
    }
  };
  const next = (start) => {
    const top = open.at(-1);
    if (!top) return [[], start];
    if (top.list) return [[...top.path, top.count++], start];
    const path = [...top.path, top.key];
    top.key = undefined;
    return [path, top.keyAt];
  };
  for (const event of events) {
    const top = open.at(-1);
    if (event.type === DOCUMENT) continue;
    if (event.type === POP) {
      open.pop();
    } else if (event.type === SCALAR && top && !top.list && top.key === undefined) {
      top.key = String(yaml.getScalarValue(text, event));
      top.keyAt = event.valueStart;
    } else if (event.type === SCALAR || event.type === ALIAS) {
      const [start, end] = event.type === SCALAR
        ? [event.valueStart, event.valueEnd] : [event.anchorStart, event.anchorEnd];
      const [path, at] = next(start);
      put(path, at, Math.max(end, at));
    } else if (event.type === MAPPING || event.type === SEQUENCE) {
      const [path, at] = next(event.start);
      put(path, at, at);
      open.push({ path, list: event.type === SEQUENCE, count: 0, key: undefined, keyAt: 0 });
    }
  }
  return found;
}

function lineFinder(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  };
}

/** The lines of a path, or of the nearest field that contains it. */
export function nearest(lines, path) {
  for (let length = path.length; length >= 0; length--) {
    const found = lines.get(keyOf(path.slice(0, length)));
    if (found) return found;
  }
  return { path: [], first: 0, last: 0 };
}

const TOKENS = /^(\s*(?:- )*)((?:"[^"]*"|'[^']*'|[^\s#:"'][^:#]*?)(?=:(?:\s|$)))?(.*)$/;

/** Split a line into `[class, text]` pieces: key, string, number, word, comment. */
export function paint(line) {
  if (/^\s*#/.test(line)) return [["comment", line]];
  const [, indent, key, rest] = line.match(TOKENS);
  const pieces = [["", indent]];
  if (key !== undefined) pieces.push(["key", key]);
  const [, colon, value] = rest.match(/^(:?\s*)(.*)$/);
  if (colon) pieces.push(["", colon]);
  if (value) pieces.push([sort(value), value]);
  return pieces.filter(([, text]) => text);
}

function sort(value) {
  if (/^-?\d+(\.\d+)?$/.test(value)) return "number";
  if (/^(true|false|null|~|\{\}|\[\]|[|>][-+]?)$/.test(value)) return "word";
  return "string";
}
