// A graph of owners and dependents of the object, from left to right.
import { ask } from "./api.js";
import { html, useEffect, useState } from "./html.js";
import { kindOf, kinds, listPath } from "./kinds.js";
import { objectHref } from "./router.js";

const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const AT_ONCE = 3; // the browser has six connections, and watches take some
const MOST = 500; // the maximum of objects per kind
const WIDTH = 184;
const HEIGHT = 46;
const GAP_X = 32;
const GAP_Y = 12;
const FOLD = 8; // objects of one kind with one owner; more of them share one box

/** The metadata of all possible owners and dependents, by uid. */
async function gather(object, signal) {
  const { namespace = "" } = object.metadata;
  const wanted = kinds.get().filter((kind) =>
    kind.verbs.includes("list") && kind.plural !== "events" && (!namespace || kind.namespaced));
  const found = new Map();
  const one = async () => {
    for (let kind = wanted.pop(); kind && !signal.aborted; kind = wanted.pop()) {
      try {
        const isPods = kind.plural === "pods" && !kind.group; // their state is shown
        const asked = { accept: isPods ? undefined : METADATA, signal, quiet: true };
        const list = await ask(`${listPath(kind, namespace)}?limit=${MOST}`, asked);
        for (const { metadata, status } of list.object.items || []) {
          found.set(metadata.uid, { kind, metadata, state: isPods ? stateOf(metadata, status) : "" });
        }
      } catch (error) {
        if (error.code !== 403 && error.code !== 404 && error.code !== 405) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return found;
}

const stateOf = ({ deletionTimestamp }, status = {}) => {
  if (deletionTimestamp) return "Terminating";
  const waiting = (status.containerStatuses || []).map(({ state }) => state?.waiting?.reason);
  return waiting.find((reason) => reason && reason !== "ContainerCreating") || status.phase || "";
};

/** The objects, with many of one kind and owner combined, except those in `open` and `uid`. */
export function fold(all, uid, open) {
  const groups = Map.groupBy(
    [...all].filter(([id, { metadata }]) => id !== uid && metadata.ownerReferences?.length === 1),
    ([, { kind, metadata }]) => `${metadata.ownerReferences[0].uid}/${kind.group}/${kind.plural}`,
  );
  const found = new Map(all);
  for (const [key, members] of groups) {
    const ownsMore = members.some(([id]) => [...all.values()].some(({ metadata }) =>
      metadata.ownerReferences?.some((each) => each.uid === id)));
    if (members.length <= FOLD || open.has(key) || ownsMore) continue;
    for (const [id] of members) found.delete(id);
    const [[, { kind, metadata }]] = members;
    const states = [...Map.groupBy(members, ([, { state }]) => state)]
      .filter(([state]) => state).map(([state, some]) => `${some.length} ${state}`);
    found.set(key, { kind, folded: members.length, state: states.join(", "), metadata: { uid: key, ownerReferences: metadata.ownerReferences } });
  }
  return found;
}

/** Columns of uids, the roots first; `edges` from owner to dependent. */
function arrange(all, uid) {
  const ownersOf = (id) => (all.get(id)?.metadata.ownerReferences || []).map((each) => each.uid).filter((each) => all.has(each));
  const owned = new Map();
  for (const [id] of all) for (const owner of ownersOf(id)) owned.set(owner, [...(owned.get(owner) || []), id]);
  const depth = new Map([[uid, 0]]);
  const edges = new Map();
  const spread = (next, step) => {
    const waiting = [uid];
    for (const id of waiting) {
      for (const other of next(id)) {
        const edge = step > 0 ? [id, other] : [other, id];
        edges.set(edge.join(), edge);
        if (depth.has(other)) continue;
        depth.set(other, depth.get(id) + step);
        waiting.push(other);
      }
    }
  };
  spread(ownersOf, -1);
  spread((id) => owned.get(id) || [], 1);
  const first = Math.min(...depth.values());
  const columns = [];
  for (const [id, at] of depth) (columns[at - first] ||= []).push(id);
  return { columns, edges: [...edges.values()] };
}

export function Related({ object, kind }) {
  const [all, setAll] = useState(null);
  const [failure, setFailure] = useState("");
  const [open, setOpen] = useState(new Set());
  const { uid } = object.metadata;
  useEffect(() => {
    const control = new AbortController();
    gather(object, control.signal).then(setAll, (error) => control.signal.aborted || setFailure(error.message));
    return () => control.abort();
  }, [uid]);
  if (failure) return html`<p class="notice bad" role="alert">${failure}</p>`;
  if (!all) return html`<p class="quiet">Looking at every kind…</p>`;
  const known = new Map(all).set(uid, { kind, metadata: object.metadata });
  for (const owner of object.metadata.ownerReferences || []) {
    const of = kindOf(owner.apiVersion, owner.kind);
    if (of && !known.has(owner.uid)) known.set(owner.uid, { kind: of, metadata: { name: owner.name, uid: owner.uid } });
  }
  return html`<${Graph} all=${fold(known, uid, open)} uid=${uid} unfold=${(key) => setOpen(new Set([...open, key]))} />`;
}

function Graph({ all, uid, unfold }) {
  const { columns, edges } = arrange(all, uid);
  const tallest = Math.max(...columns.map((column) => column.length));
  const places = new Map();
  columns.forEach((column, x) => column.forEach((id, y) => {
    const top = ((tallest - column.length) * (HEIGHT + GAP_Y)) / 2;
    places.set(id, [x * (WIDTH + GAP_X) + 1, top + y * (HEIGHT + GAP_Y) + 1]);
  }));
  const width = columns.length * (WIDTH + GAP_X) - GAP_X + 2;
  const height = tallest * (HEIGHT + GAP_Y) - GAP_Y + 2;
  return html`
    <div class="graph" tabindex="0" role="region" aria-label="Owners">
      <svg width=${width} height=${height} role="group" aria-label="Objects from owner to owned">
        ${edges.map(([from, to]) => {
          const [x1, y1] = places.get(from);
          const [x2, y2] = places.get(to);
          const middle = (x1 + WIDTH + x2) / 2;
          const start = `${x1 + WIDTH} ${y1 + HEIGHT / 2}`;
          const end = `${x2} ${y2 + HEIGHT / 2}`;
          return html`<path key=${from + to} d="M ${start} C ${middle} ${y1 + HEIGHT / 2}, ${middle} ${y2 + HEIGHT / 2}, ${end}" />`;
        })}
        ${[...places].map(([id, [x, y]]) => {
          const { kind, metadata, state, folded } = all.get(id);
          const unfolds = (event) => (event.preventDefault(), unfold(id));
          if (folded) return html`
            <a key=${id} class="folded" href="#" role="button" aria-label="Show ${folded} ${kind.plural}: ${state}" onClick=${unfolds}>
              <rect x=${x} y=${y} width=${WIDTH} height=${HEIGHT} rx="6" />
              <text class="quiet" x=${x + 10} y=${y + 18}>${folded} ${kind.plural}</text>
              <text x=${x + 10} y=${y + 36}>${short(state || "show them")}</text></a>`;
          return html`
            <a key=${id} class=${id === uid ? "here" : ""} href=${objectHref(kind, metadata.namespace, metadata.name)}
              aria-label="${kind.kind} ${metadata.name}">
              <rect x=${x} y=${y} width=${WIDTH} height=${HEIGHT} rx="6" />
              <text class="quiet" x=${x + 10} y=${y + 18}>${kind.kind}${state ? ` · ${state}` : ""}</text>
              <text x=${x + 10} y=${y + 36}>${short(metadata.name)}</text></a>`;
        })}
      </svg>
    </div>
    ${places.size === 1 && html`<p class="quiet">It has no owner and owns nothing.</p>`}`;
}

const short = (name) => (name.length > 22 ? `${name.slice(0, 9)}…${name.slice(-11)}` : name);
