// Removes parts of an object of the scripted world, and restores them.
//
// A removed part is kept in an annotation of the object, so that any user can restore it later,
// in another browser, too, and kubectl shows it. A place is `tokens`, `installations` or
// `branches/PATH`; a part has an `id`: the token, the number of the installation, the branch name.
const BROKEN = "console.inkube.dev/broken";
// a host without tokens accepts everyone, so an unused token replaces the last revoked one
const NOBODYS = "nobody-has-this-token";

/** Whether a token only marks that all others were revoked. */
export const isNobodys = ({ value }) => value === NOBODYS;

function readBroken(object) {
  try {
    return JSON.parse(object.metadata.annotations?.[BROKEN] || "[]");
  } catch {
    return []; // the annotation was not written by the console
  }
}

/** The parts of a place as `[part, whether it exists]`, removed ones at their old position. */
export function allParts(object, place, parts) {
  const all = parts.map((part) => [part, true]);
  const broken = readBroken(object).filter((each) => each.place === place);
  for (const { id, label, at } of broken.reverse()) all.splice(Math.max(at, 0), 0, [{ id, label }, false]);
  return all;
}

/** The merge patch that removes a part. */
export function breakPart(object, place, { id, label }) {
  const { spec, taken } = take(object.spec, place, id);
  return patch([...readBroken(object), { place, id, label, ...taken }], spec);
}

/** The merge patch that restores a part. */
export function mendPart(object, place, { id }) {
  const broken = readBroken(object);
  const found = broken.find((each) => each.place === place && each.id === id);
  return patch(broken.filter((each) => each !== found), put(object.spec, place, found));
}

const patch = (broken, spec) => ({
  metadata: { annotations: { [BROKEN]: broken.length ? JSON.stringify(broken) : null } },
  spec,
});

function take(spec, place, id) {
  if (place.startsWith("branches/")) {
    const path = place.slice("branches/".length);
    const repository = spec.repositories.find((each) => each.path === path);
    const taken = { at: (repository.branches || []).indexOf(id), isDefault: repository.defaultBranch === id };
    const changed = { ...repository, branches: (repository.branches || []).filter((each) => each !== id) };
    if (taken.isDefault) changed.defaultBranch = "";
    return { spec: { repositories: replaced(spec.repositories, repository, changed) }, taken };
  }
  const name = place === "tokens" ? "value" : "id";
  const at = spec[place].findIndex((each) => each[name] === id);
  const left = spec[place].filter((_, index) => index !== at);
  if (place === "tokens" && !left.length) left.push({ value: NOBODYS });
  return { spec: { [place]: left }, taken: { at, value: spec[place][at] } };
}

function put(spec, place, { id, at, value, isDefault }) {
  if (place.startsWith("branches/")) {
    const path = place.slice("branches/".length);
    const repository = spec.repositories.find((each) => each.path === path);
    const changed = { ...repository };
    if (at >= 0) changed.branches = inserted(repository.branches || [], at, id);
    if (isDefault) changed.defaultBranch = id;
    return { repositories: replaced(spec.repositories, repository, changed) };
  }
  const kept = (spec[place] || []).filter((each) => !isNobodys(each));
  return { [place]: inserted(kept, at, value) };
}

const replaced = (list, before, after) => list.map((each) => (each === before ? after : each));
const inserted = (list, at, item) => [...list.slice(0, at), item, ...list.slice(at)];
