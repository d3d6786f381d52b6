// An object as a tree: each field with its value, owner, problems, and description from the schema.
import { html, useMemo, useState } from "./html.js";
import { colourOf, Legend, readManagers } from "./managers.js";
import { withoutManagers } from "./objects.js";
import { keyOf } from "./paths.js";
import { byField, ofStatus } from "./problems.js";
import { useSchema } from "./schema.js";

const OPEN_DEPTH = 4;

export function Fields({ object, kind }) {
  const schema = useSchema(kind);
  const [turned, setTurned] = useState(() => new Map());
  const [empty, setEmpty] = useState(false);
  const shown = useMemo(() => withoutManagers(object), [object]);
  const { managers, owners } = useMemo(() => readManagers(object), [object]);
  const problems = useMemo(() => byField(ofStatus(object), shown), [object]);
  const rows = [...walk(shown, schema, [], turned, problems, empty)];
  const turn = (key, open) => setTurned(new Map(turned).set(key, open));
  return html`
    <div class="bar"><${Legend} managers=${managers} /><span class="grow"></span>
      <label class="check"><input type="checkbox" checked=${empty}
        onChange=${(event) => setEmpty(event.target.checked)} /> Fields that are not set</label></div>
    <div class="tree" role="region" tabindex="0" aria-label="Fields">${rows.map((row) => html`
      <${Field} key=${row.key} row=${row} owner=${owners.get(row.key) || 0} problems=${problems.get(row.key)}
        manager=${managers[owners.get(row.key) - 1]?.name} turn=${turn} />`)}
    </div>`;
}

const isOpenable = (value) => value !== null && typeof value === "object" && Object.keys(value).length > 0;

function* walk(value, schema, path, turned, problems, empty) {
  const names = new Set(Object.keys(value).map((name) => (Array.isArray(value) ? Number(name) : name)));
  if (empty && schema && !Array.isArray(value)) for (const name of schema.names) names.add(name);
  for (const name of names) {
    const here = [...path, name];
    const key = keyOf(here);
    const below = schema?.below(name);
    const member = value[name];
    const openable = isOpenable(member);
    const inside = [...problems.keys()].some((each) => each.startsWith(`${key}\u0000`));
    const open = openable && (turned.get(key) ?? (inside || here.length < OPEN_DEPTH));
    yield { key, name, member, depth: path.length, schema: below, openable, open,
      required: schema?.required.includes(name) };
    if (open) yield* walk(member, below, here, turned, problems, empty);
  }
}

function textOf({ member, openable, open }) {
  if (member === undefined) return "";
  if (!openable) return typeof member === "string" ? member : JSON.stringify(member);
  if (open) return "";
  const size = Object.keys(member).length;
  return Array.isArray(member) ? `[ ${size} ]` : `{ ${Object.keys(member).slice(0, 4).join(", ")}${size > 4 ? ", …" : ""} }`;
}

function Field({ row, owner, manager, problems, turn }) {
  const { key, name, depth, openable, open, schema, required } = row;
  const label = typeof name === "number" ? `[${name}]` : name;
  return html`
    <div class="field ${colourOf(owner)} ${problems ? "marked" : ""}">
      <div style=${{ paddingLeft: `${depth * 16}px` }}>
        ${owner > 0 && html`<span class="who" title="owned by ${manager}">${owner}</span>`}
        <div class="name">
          ${openable
            ? html`<button class="plain" aria-expanded=${String(open)} onClick=${() => turn(key, !open)}>
                <span aria-hidden="true">${open ? "▾" : "▸"}</span> <span class="key">${breakable(label)}</span></button>`
            : html`<code class="key">${breakable(label)}</code>`}
          <span class="value">${textOf(row)}</span>
        </div>
        ${problems?.map((each) => html`<p class="bad" key=${each.detail}>✗ ${each.detail}</p>`)}
      </div>
      <div class="about">
        ${schema && html`<span class="type">${schema.type}${required ? ", required" : ""}${schema.notes.map((each) => ` · ${each}`)}</span>
          <p>${schema.description}</p>`}
      </div>
    </div>`;
}

/** A name that breaks after its slashes and dots first. */
const breakable = (text) => String(text).split(/(?<=[/.])/).flatMap((part, at) => (at ? [html`<wbr />`, part] : [part]));
