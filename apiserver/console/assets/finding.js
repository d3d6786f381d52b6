// Search for kinds and objects by a part of their name.

/** The kinds that match a text, the best first. */
export function search(all, text) {
  const wanted = text.toLowerCase();
  const rank = (kind) => {
    if (kind.shortNames.includes(wanted) || kind.plural === wanted) return 0;
    if (kind.plural.startsWith(wanted)) return 1;
    if (kind.kind.toLowerCase().includes(wanted)) return 2;
    return kind.group.includes(wanted) ? 3 : 9;
  };
  return all
    .map((kind) => [rank(kind), kind])
    .filter(([found, kind]) => found < 9 && kind.verbs.includes("list"))
    .sort(([a], [b]) => a - b)
    .map(([, kind]) => kind);
}

/** The objects with a text in their name, those that begin with it first; `{kind, metadata}`. */
export function searchObjects(all, text) {
  const wanted = text.toLowerCase();
  return all
    .filter(({ metadata }) => metadata.name.includes(wanted))
    .sort((a, b) => b.metadata.name.startsWith(wanted) - a.metadata.name.startsWith(wanted));
}
