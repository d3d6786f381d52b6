// Owners of fields: managedFields as paths of the object, with a colour per manager.
import { age } from "./format.js";
import { html } from "./html.js";
import { keyOf, resolve } from "./paths.js";

const COLOURS = 8;

/**
 * The managers of an object, numbered from 1, and the number of each field by the key of its path.
 * A field with several managers gets the last writer.
 */
export function readManagers(object) {
  const entries = [...(object.metadata.managedFields || [])].sort((a, b) =>
    (a.time || "") < (b.time || "") ? -1 : 1);
  const managers = [];
  const owners = new Map();
  for (const entry of entries) {
    const name = entry.manager + (entry.subresource ? ` (${entry.subresource})` : "");
    let number = managers.findIndex((each) => each.name === name) + 1;
    if (!number) number = managers.push({ name, operation: entry.operation, time: entry.time });
    else managers[number - 1].time = entry.time;
    for (const path of leaves(entry.fieldsV1 || {}, [])) {
      const there = resolve(object, path);
      if (there.length === path.length) owners.set(keyOf(there), number);
    }
  }
  return { managers, owners };
}

export const colourOf = (number) => (number ? `owner-${((number - 1) % COLOURS) + 1}` : "");

function* leaves(fields, path) {
  for (const [key, below] of Object.entries(fields)) {
    if (key === ".") {
      yield path;
      continue;
    }
    const next = [...path, toStep(key)];
    if (Object.keys(below).length) yield* leaves(below, next);
    else yield next;
  }
}

/** `f:name`, `k:{"name":"web"}`, `v:"text"`, `i:0` (structured-merge-diff's PathElement). */
function toStep(key) {
  const value = key.slice(2);
  if (key.startsWith("f:")) return value;
  const read = JSON.parse(value);
  if (key.startsWith("v:")) return { "=": read };
  return read;
}

export function Legend({ managers }) {
  return html`
    <ul class="legend" aria-label="Who owns what">${managers.map((each, at) => html`
      <li key=${each.name}><i class="swatch ${colourOf(at + 1)}"></i><b>${at + 1}</b> ${each.name}
        <span class="quiet">${each.operation}${each.time ? `, ${age(each.time)} ago` : ""}</span></li>`)}
    </ul>`;
}
