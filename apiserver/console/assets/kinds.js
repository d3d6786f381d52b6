// What the server serves: kinds by discovery, and the paths of their objects.
import { ask } from "./api.js";
import { store } from "./store.js";

const DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/**
 * A kind as one version serves it.
 * @typedef {{group: string, version: string, plural: string, kind: string, namespaced: boolean,
 *   verbs: string[], shortNames: string[], subresources: Record<string, string[]>,
 *   versions: string[], custom: boolean}} Kind
 */

/** Every kind in its preferred version, null before they are known. */
export const kinds = store(/** @type {Kind[] | null} */ (null));
const others = new Map();

/** Ask the server for its kinds. */
export async function discover() {
  const [core, groups] = await Promise.all([
    ask("/api", { accept: DISCOVERY }),
    ask("/apis", { accept: DISCOVERY }),
  ]);
  const found = new Map();
  others.clear();
  for (const group of [...core.items, ...groups.items]) {
    const name = group.metadata.name || "";
    for (const version of group.versions) {
      for (const resource of version.resources || []) {
        const kind = toKind(name, version.version, resource);
        others.set(idOf(kind), kind);
        const first = found.get(`${name}/${kind.plural}`);
        if (first) first.versions.push(kind.version);
        else found.set(`${name}/${kind.plural}`, kind);
      }
    }
  }
  kinds.set([...found.values()].sort(order));
}

function toKind(group, version, resource) {
  return {
    group,
    version,
    plural: resource.resource,
    kind: resource.responseKind?.kind || resource.resource,
    namespaced: resource.scope === "Namespaced",
    verbs: resource.verbs,
    shortNames: resource.shortNames || [],
    subresources: Object.fromEntries(
      (resource.subresources || []).map((each) => [each.subresource, each.verbs]),
    ),
    versions: [version],
    custom: isCustom(group),
  };
}

/** Whether a group is none of Kubernetes' own: those have no dot, or end in k8s.io. */
export const isCustom = (group) => group.includes(".") && !/[.-]k8s\.io$/.test(group);
/** Whether a group is of a module that comes with inkube. */
export const isOfModule = (group) => /(^|\.)(inkube\.dev|grafana\.app|porch\.kpt\.dev)$/.test(group);
const USUAL = ["", "apps", "batch"]; // before the others of Kubernetes
const rank = ({ group }) => (USUAL.includes(group) ? USUAL.indexOf(group) : USUAL.length);

const order = (a, b) =>
  b.custom - a.custom || isOfModule(a.group) - isOfModule(b.group) || rank(a) - rank(b) || (a.group > b.group) - (a.group < b.group) || (a.kind > b.kind) - (a.kind < b.kind);

export const idOf = ({ group, version, plural }) => `${group}/${version}/${plural}`;

/** The kind of a group, version and plural, in whatever version; undefined where there is none. */
export const findKind = (group, version, plural) => others.get(`${group}/${version}/${plural}`);

/** The kind that an apiVersion and a kind name, as references have them. */
export function kindOf(apiVersion, kind) {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  for (const each of others.values()) {
    if (each.group === group && each.version === version && each.kind === kind) return each;
  }
  return undefined;
}

export const apiVersion = ({ group, version }) => (group ? `${group}/${version}` : version);

/** `/api/v1/namespaces/default/configmaps`; without a namespace all of them. */
export function listPath(kind, namespace = "") {
  const base = kind.group ? `/apis/${kind.group}/${kind.version}` : `/api/${kind.version}`;
  const inside = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${base}${inside}/${kind.plural}`;
}

export const objectPath = (kind, namespace, name) =>
  `${listPath(kind, namespace)}/${encodeURIComponent(name)}`;
