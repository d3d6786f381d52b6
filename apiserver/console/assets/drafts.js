// Drafts of objects: their text, how they are sent, and the errors of the server.
import { ask, query } from "./api.js";
import { apiVersion, listPath, objectPath } from "./kinds.js";
import { inOrder } from "./objects.js";
import { keyOf } from "./paths.js";
import { ofRefusal } from "./problems.js";
import { dump, findLines, load } from "./yaml.js";

export const MANAGER = "inkube-console";
const SET_BY_SERVER = ["uid", "creationTimestamp", "generation", "managedFields", "selfLink"];

/** The text of an object to edit: without server-set fields, and without a status with its own subresource. */
export function textToEdit(object, kind, mode) {
  const metadata = { ...object.metadata };
  for (const name of SET_BY_SERVER) delete metadata[name];
  if (mode === "apply") delete metadata.resourceVersion;
  const { status, ...rest } = object;
  const keepsStatus = status !== undefined && !kind.subresources.status;
  return dump(inOrder({ ...rest, metadata, ...(keepsStatus ? { status } : {}) }));
}

/** The text for another mode: an apply contains no resourceVersion, an update needs it. */
export function inMode(text, mode, version) {
  const without = text.replace(/^ {2}resourceVersion: .*\n/m, "");
  return mode === "apply" ? without : without.replace(/^(metadata:\n)/m, `$1  resourceVersion: '${version}'\n`);
}

/** A draft of a new object: the members of every object, and those that the schema requires. */
export function newText(kind, schema, namespace) {
  const metadata = { name: "" };
  if (kind.namespaced) metadata.namespace = namespace || "default";
  const draft = { apiVersion: apiVersion(kind), kind: kind.kind, metadata };
  for (const name of schema?.names || []) {
    if (["apiVersion", "kind", "metadata", "status"].includes(name)) continue;
    if (schema.required.includes(name) || name === "spec") draft[name] = sample(schema.below(name), 0);
  }
  return dump(draft);
}

function sample(schema, depth) {
  const { node } = schema;
  if (node.default !== undefined) return node.default;
  if (node.enum) return node.enum[0];
  if (node.type === "array") return [];
  if (node.type === "integer" || node.type === "number") return node.minimum || 0;
  if (node.type === "boolean") return false;
  if (node.type === "string") return "";
  const made = {};
  if (depth < 6) for (const name of schema.required) made[name] = sample(schema.below(name), depth + 1);
  return made;
}

/**
 * Send a draft as `create`, `update` or `apply`, really or as a dry run. The text is sent unchanged,
 * because the server reads YAML. Returns `{object, warnings}`; throws ApiError.
 */
export function sendDraft(kind, text, mode, { dryRun = false, force = false, lenient = false, signal } = {}) {
  const { metadata = {} } = load(text) || {};
  const asked = query({
    dryRun: dryRun ? "All" : "",
    fieldManager: MANAGER,
    fieldValidation: lenient ? "Ignore" : "Strict",
    force: mode === "apply" && force ? "true" : "",
  });
  const { name = "", namespace = "" } = metadata || {};
  const place = mode === "create" ? listPath(kind, namespace) : objectPath(kind, namespace, name);
  const method = { create: "POST", update: "PUT", apply: "PATCH" }[mode];
  const type = mode === "apply" ? "application/apply-patch+yaml" : "application/yaml";
  return ask(place + asked, { method, body: text, type, signal, quiet: true });
}

/** Whether the server refused unknown or duplicate fields. */
export const isStrict = (error) =>
  error.code === 400 && /(unknown|duplicate) field "/.test(error.message);

/** Rebase a draft on changes of others: only the user's changes since `original` are kept. */
export function merge(original, mine, theirs) {
  return dump(mergeValues(load(original), load(mine), load(theirs)));
}

const isMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function mergeValues(original, mine, theirs) {
  if (same(original, mine)) return theirs;
  if (!isMap(original) || !isMap(mine) || !isMap(theirs)) return mine;
  const made = {};
  for (const name of new Set([...Object.keys(theirs), ...Object.keys(mine)])) {
    const value = mergeValues(original[name], mine[name], theirs[name]);
    if (value !== undefined) made[name] = value;
  }
  return made;
}

/**
 * The meaning of an error: `{problems, conflicts, outdated}`. Conflicts are those of an apply;
 * outdated means that another client wrote first.
 */
export function readRefusal(error) {
  const strict = [...error.message.matchAll(/(unknown|duplicate) field "((?:[^"\\]|\\.)*)"/g)];
  if (isStrict(error)) {
    const causes = strict.map(([, word, field]) => ({ field, message: `${word} field`, reason: "Strict" }));
    return { problems: ofRefusal({ ...error, message: error.message, causes }) };
  }
  const problems = ofRefusal(error);
  const conflicts = error.causes.some((cause) => cause.reason === "FieldManagerConflict");
  return { problems, conflicts, outdated: error.code === 409 && error.reason === "Conflict" && !conflicts };
}

/** Remove a field from a text, and parents that become empty. */
export function removeField(text, path) {
  const lines = text.split("\n");
  const places = findLines(text);
  let end = path.length;
  const isOnly = (length) => {
    const above = keyOf(path.slice(0, length));
    const below = [...places.values()].filter((each) =>
      each.path.length === length + 1 && keyOf(each.path.slice(0, length)) === above);
    return below.length === 1;
  };
  while (end > 1 && isOnly(end - 1)) end--;
  const place = places.get(keyOf(path.slice(0, end)));
  if (!place) return text;
  const [, indent, dash] = lines[place.first].match(/^(\s*)((?:- )?)/);
  const isFirstOfItem = dash && typeof path[end - 1] !== "number";
  lines.splice(place.first, place.last - place.first + 1);
  if (isFirstOfItem) lines[place.first] = `${indent}- ${lines[place.first].trimStart()}`;
  return lines.join("\n");
}
