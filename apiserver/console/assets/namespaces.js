// The namespace of lists: selected from the existing ones, or typed if they cannot be listed.
import { ask } from "./api.js";
import { html, useEffect, useState } from "./html.js";
import { findKind, listPath } from "./kinds.js";
import { namespace } from "./router.js";
import { useStore } from "./store.js";

const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** The names of all namespaces; "" if they cannot be listed. */
async function listNames() {
  const kind = findKind("", "v1", "namespaces");
  if (!kind) return null;
  try {
    const { items } = await ask(listPath(kind), { accept: METADATA });
    return (items || []).map((each) => each.metadata.name).sort();
  } catch (error) {
    if (error.code === 403) return null;
    throw error;
  }
}

export function NamespacePicker() {
  const [names, setNames] = useState([]);
  const chosen = useStore(namespace);
  const refresh = () => listNames().then(setNames, () => {}); // the page itself shows errors
  useEffect(() => void refresh(), []);
  const onChange = (event) => namespace.set(event.target.value.trim());
  if (names === null) {
    return html`<input id="namespace" class="namespace" aria-label="Namespace" value=${chosen}
      placeholder="namespace" spellcheck=${false} onChange=${onChange} />`;
  }
  const all = chosen && !names.includes(chosen) ? [...names, chosen] : names;
  return html`
    <select id="namespace" class="namespace" aria-label="Namespace" value=${chosen} onChange=${onChange} onFocus=${refresh}>
      <option value="">all namespaces</option>
      ${all.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
    </select>`;
}
