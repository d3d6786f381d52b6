// Field paths: `spec.crew[0].port`, `metadata.labels[app.kubernetes.io/name]`,
// `.spec.containers[name="web"].image`. A path is an array of names and indexes.

/** Parse a path in the form of a 422, a fieldError or a conflict. Conditions become objects. */
export function parsePath(text) {
  const path = [];
  const parts = /\.?([^.[\]]+)|\[((?:"(?:[^"\\]|\\.)*"|[^\]"])*)\]/g;
  for (const [, name, inside] of text.matchAll(parts)) {
    if (name !== undefined) path.push(name);
    else path.push(readBracket(inside));
  }
  return path;
}

function readBracket(inside) {
  if (/^\d+$/.test(inside)) return Number(inside);
  if (/^[\w.-]+=/.test(inside)) {
    const keys = {};
    for (const [, name, value] of inside.matchAll(/([\w.-]+)=("(?:[^"\\]|\\.)*"|[^,]*)/g)) {
      keys[name] = readValue(value);
    }
    return keys;
  }
  return inside.startsWith("=") ? { "=": readValue(inside.slice(1)) } : unquote(inside);
}

const unquote = (text) => (/^".*"$/.test(text) ? String(readValue(text)) : text);

function readValue(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A path as text, for keys of maps. */
export const keyOf = (path) => path.map(String).join("\u0000");

/**
 * The part of `path` that exists in an object: conditions become indexes, and names with dots are
 * joined where the object has them. It ends at the first missing member.
 */
export function resolve(object, path) {
  const found = [];
  let here = object;
  for (let at = 0; at < path.length && here && typeof here === "object"; at++) {
    let step = path[at];
    if (Array.isArray(here)) {
      if (typeof step === "object") step = here.findIndex((item) => fits(item, path[at]));
      if (!(step in here)) break;
    } else if (!(step in here)) {
      const joined = joinedName(here, path, at);
      if (!joined) break;
      [step, at] = joined;
    }
    found.push(step);
    here = here[step];
  }
  return found;
}

const fits = (item, keys) =>
  "=" in keys
    ? same(item, keys["="])
    : Object.entries(keys).every(([name, value]) => same(item?.[name], value));

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function joinedName(here, path, at) {
  for (let end = path.length; end > at + 1; end--) {
    const name = path.slice(at, end).join(".");
    if (name in here) return [name, end - 1];
  }
  return undefined;
}

export const valueAt = (object, path) => path.reduce((here, step) => here?.[step], object);

/** A path in the form that users write. */
export function format(path) {
  return path
    .map((step, at) => {
      if (typeof step === "number") return `[${step}]`;
      if (/[.[\]/]/.test(step)) return `[${step}]`;
      return at ? `.${step}` : step;
    })
    .join("");
}
