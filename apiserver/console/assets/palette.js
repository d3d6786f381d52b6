// Go to a kind by a few letters of its name, plural, short name or group.
import { Dialog } from "./dialog.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { discover, idOf, kinds } from "./kinds.js";
import { tell } from "./notices.js";
import { useStore } from "./store.js";

const SHOWN = 12;

/** The kinds that a text may mean, the best first. */
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

export function Palette({ close, choose }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const input = useRef();
  const found = search(useStore(kinds) || [], text).slice(0, SHOWN);
  useLayoutEffect(() => input.current.focus(), []);
  useEffect(() => {
    discover().catch((error) => tell(error.message, "bad"));
  }, []);

  const pick = (kind) => {
    close();
    choose(kind);
  };
  const onKeyDown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((at + step + found.length) % Math.max(found.length, 1));
    else if (event.key === "Enter" && found[at]) pick(found[at]);
    else return;
    event.preventDefault();
  };
  return html`
    <${Dialog} title="Go to a kind" close=${close}>
      <input ref=${input} class="block" role="combobox" aria-label="Kind" aria-expanded="true" aria-controls="found"
        aria-activedescendant=${found[at] ? `found-${at}` : undefined} spellcheck=${false} autocomplete="off"
        value=${text} onInput=${(event) => (setText(event.target.value), setAt(0))} onKeyDown=${onKeyDown} />
      <ul id="found" class="found" role="listbox" aria-label="Kinds">${found.map((kind, index) => html`
        <li key=${idOf(kind)} id="found-${index}" role="option" aria-selected=${String(index === at)} onClick=${() => pick(kind)}>
          <b>${kind.kind}</b> <span class="quiet">${kind.group || "core"}/${kind.version}</span>
          <span class="quiet end">${kind.shortNames.join(" ")}</span></li>`)}
      </ul>
    <//>`;
}
