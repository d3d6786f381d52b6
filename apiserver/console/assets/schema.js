// The schema of a kind from OpenAPI v3: descriptions of its fields.
import { ask } from "./api.js";
import { useEffect, useState } from "./html.js";

const documents = new Map();

async function fetchDocument({ group, version }) {
  const name = group ? `apis/${group}/${version}` : `api/${version}`;
  const { paths } = await ask("/openapi/v3");
  const place = paths[name]?.serverRelativeURL;
  if (!place) return null;
  // the address changes with the document, so it is loaded once
  if (!documents.has(place)) {
    documents.clear(); // one document at a time, because some have a megabyte
    documents.set(place, ask(place));
  }
  return documents.get(place);
}

/** A kind's `Schema`; null if the server has none. */
export async function fetchSchema(kind) {
  const document = await fetchDocument(kind);
  const all = document?.components?.schemas || {};
  const root = Object.values(all).find((each) =>
    each["x-kubernetes-group-version-kind"]?.some(
      (gvk) => gvk.kind === kind.kind && gvk.group === kind.group && gvk.version === kind.version));
  return root ? new Schema(root, all) : null;
}

/** One node of a schema; references are followed. */
export class Schema {
  constructor(node, all) {
    this.all = all;
    const reference = node.$ref || (node.allOf?.length === 1 && node.allOf[0].$ref);
    const found = reference ? all[reference.split("/").pop()] || {} : node;
    this.node = reference ? { ...found, ...node, properties: found.properties } : node;
  }

  get description() {
    return this.node.description || "";
  }

  /** `string`, `[]object`, `map[string]` …, with other constraints. */
  get type() {
    const { node } = this;
    if (node["x-kubernetes-int-or-string"] || node.format === "int-or-string") return "int or string";
    if (node.type === "array") return `[]${this.item?.type || "any"}`;
    if (node.additionalProperties && !node.properties) return `map of ${this.below("*")?.type || "any"}`;
    return node.format ? `${node.type} (${node.format})` : node.type || "object";
  }

  get notes() {
    const { node } = this;
    const told = [];
    if (node.enum) told.push(`one of ${node.enum.join(", ")}`);
    if (node.default !== undefined && JSON.stringify(node.default) !== "{}") told.push(`default ${JSON.stringify(node.default)}`);
    if (node.minimum !== undefined) told.push(`≥ ${node.minimum}`);
    if (node.maximum !== undefined) told.push(`≤ ${node.maximum}`);
    if (node.pattern) told.push(`matches ${node.pattern}`);
    return told;
  }

  get item() {
    return this.node.items ? new Schema(this.node.items, this.all) : null;
  }

  get required() {
    return this.node.required || [];
  }

  get names() {
    return Object.keys(this.node.properties || {});
  }

  /** The node of a member or an item; null if the schema lacks it. */
  below(step) {
    if (typeof step === "number") return this.item;
    const found = this.node.properties?.[step] || this.node.additionalProperties;
    return found && typeof found === "object" ? new Schema(found, this.all) : null;
  }
}

/** The schema of a kind; undefined while it is loading, null if there is none. */
export function useSchema(kind) {
  const [schema, setSchema] = useState(undefined);
  useEffect(() => {
    let left = false;
    fetchSchema(kind).then((found) => left || setSchema(found), () => left || setSchema(null));
    return () => (left = true);
  }, [kind]);
  return schema;
}
