// An object as YAML: each line with its owner and the problems of its field.
import { html, useEffect, useMemo, useRef } from "./html.js";
import { colourOf, Legend, readManagers } from "./managers.js";
import { withoutManagers } from "./objects.js";
import { keyOf, resolve } from "./paths.js";
import { byField, ofStatus } from "./problems.js";
import { dump, findLines, nearest, paint } from "./yaml.js";

export function YamlView({ object, target }) {
  const box = useRef();
  const shown = useMemo(() => withoutManagers(object), [object]);
  const text = useMemo(() => dump(shown), [shown]);
  const { managers, owners } = useMemo(() => readManagers(object), [object]);
  const { lines, owner, problems, aim } = useMemo(() => {
    const places = findLines(text);
    const told = new Map();
    for (const [key, list] of byField(ofStatus(object), shown)) {
      told.set(nearest(places, key === "" ? [] : places.get(key)?.path || []).first, list);
    }
    const numbers = [];
    for (const [key, place] of places) {
      const number = owners.get(key);
      if (number) for (let at = place.first; at <= place.last; at++) numbers[at] = number;
    }
    const aimed = target ? nearest(places, resolve(shown, target)).first : -1;
    return { lines: text.trimEnd().split("\n"), owner: numbers, problems: told, aim: aimed };
  }, [text, owners, target]);

  useEffect(() => {
    const line = box.current.querySelector(".target");
    if (line) box.current.scrollTop = line.offsetTop - box.current.clientHeight / 2;
  }, [aim]);
  return html`
    <${Legend} managers=${managers} />
    <div class="yaml" ref=${box} role="region" tabindex="0" aria-label="The object as YAML">${lines.map((line, at) => html`
      <${Line} key=${at} line=${line} at=${at} owner=${owner[at] || 0} problems=${problems.get(at)}
        target=${at === aim} manager=${managers[owner[at] - 1]?.name} />`)}
    </div>`;
}

export function Painted({ line }) {
  return paint(line).map(([sort, text], at) => html`<span key=${at} class=${sort}>${text}</span>`);
}

function Line({ line, at, owner, manager, problems, target }) {
  const sort = `${problems ? "marked" : ""} ${target ? "target" : ""}`;
  return html`
    <div class="line ${sort}">
      <span class="owner ${colourOf(owner)}" title=${manager}>${owner || ""}</span>
      <span class="at">${at + 1}</span>
      <span class="text"><${Painted} line=${line} /></span>
      ${problems && html`<span class="error-text">✗ ${problems.map((each) => each.detail).join(" · ")}</span>`}
    </div>`;
}
