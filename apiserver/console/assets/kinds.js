// The kinds that the server serves, from discovery, and the paths of their objects.
import { ask } from "./api.js";
import { store } from "./store.js";

const DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/**
 * A kind in one served version.
 * @typedef {{group: string, version: string, plural: string, kind: string, namespaced: boolean,
 *   verbs: string[], shortNames: string[], subresources: Record<string, string[]>,
 *   versions: string[], custom: boolean}} Kind
 */

/** Every kind in its preferred version; null before discovery. */
export const kinds = store(/** @type {Kind[] | null} */ (null));
const others = new Map();

/** Load the kinds from the server. */
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

/** Whether a group is not one of Kubernetes: those have no dot, or end in k8s.io. */
export const isCustom = (group) => group.includes(".") && !/[.-]k8s\.io$/.test(group);
/** What the groups of inkube's modules are for. */
export const ABOUT = {
  "provisioning.grafana.app": "repositories in git, with checks and jobs",
  "world.inkube.dev": "simulated outside systems, and faults",
  "porch.kpt.dev": "packages of configuration in git",
  "config.porch.kpt.dev": "packages of configuration in git",
  "kwok.x-k8s.io": "simulated nodes, and the stages of their pods",
  "workloads.inkube.dev": "simulated nodes, and the stages of their pods",
};
/** Whether a group belongs to a module of inkube. */
export const isOfModule = (group) => group in ABOUT;
const USUAL = ["", "apps", "batch"]; // listed before Kubernetes' other groups
const rank = ({ group }) => (USUAL.includes(group) ? USUAL.indexOf(group) : USUAL.length);

const order = (a, b) => // the reader's own kinds, those of Kubernetes, those of modules
  isOfModule(a.group) - isOfModule(b.group) || b.custom - a.custom || rank(a) - rank(b) || (a.group > b.group) - (a.group < b.group) || (a.kind > b.kind) - (a.kind < b.kind);

export const idOf = ({ group, version, plural }) => `${group}/${version}/${plural}`;

/** The kind of a group, version and plural, in any version; undefined if unknown. */
export const findKind = (group, version, plural) => others.get(`${group}/${version}/${plural}`);

/** The kind of an apiVersion and kind, as in references. */
export function kindOf(apiVersion, kind) {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  for (const each of others.values()) {
    if (each.group === group && each.version === version && each.kind === kind) return each;
  }
  return undefined;
}

export const apiVersion = ({ group, version }) => (group ? `${group}/${version}` : version);

/** `/api/v1/namespaces/default/configmaps`; without a namespace the path for all namespaces. */
export function listPath(kind, namespace = "") {
  const base = kind.group ? `/apis/${kind.group}/${kind.version}` : `/api/${kind.version}`;
  const inside = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${base}${inside}/${kind.plural}`;
}

export const objectPath = (kind, namespace, name) =>
  `${listPath(kind, namespace)}/${encodeURIComponent(name)}`;
