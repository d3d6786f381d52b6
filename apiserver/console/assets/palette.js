// Go to a kind by a part of its name, plural, short name or group, or to an object by its name.
import { ask } from "./api.js";
import { Dialog } from "./dialog.js";
import { search, searchObjects } from "./finding.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { discover, idOf, kinds, listPath } from "./kinds.js";
import { tell } from "./notices.js";
import { kindHref, objectHref } from "./router.js";
import { useStore } from "./store.js";

const SHOWN = 12; // kinds, and the same number of objects
const LEAST = 2; // the minimum of letters to search for objects
const MOST = 500; // the maximum of objects per kind
const AT_ONCE = 3; // requests
const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** The names of all objects, loaded kind by kind at the first search. */
function useObjects(all, wanted) {
  const [found, setFound] = useState([]);
  useEffect(() => {
    if (!wanted) return undefined;
    const control = new AbortController();
    const waiting = all.filter((kind) => kind.verbs.includes("list") && kind.plural !== "events").reverse();
    const one = async () => {
      for (let kind = waiting.pop(); kind && !control.signal.aborted; kind = waiting.pop()) {
        const of = kind;
        try {
          const asked = { accept: METADATA, signal: control.signal, quiet: true };
          const { object: list } = await ask(`${listPath(of)}?limit=${MOST}`, asked);
          const more = (list.items || []).map(({ metadata }) => ({ kind: of, metadata }));
          if (more.length) setFound((before) => [...before, ...more]);
        } catch (error) {
          if (!control.signal.aborted && (!error.code || error.code >= 500)) tell(error.message, "bad");
        }
      }
    };
    setFound([]);
    Array.from({ length: AT_ONCE }, one);
    return () => control.abort();
  }, [all, wanted]);
  return found;
}

export function Palette({ close, choose }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const input = useRef();
  const all = useStore(kinds) || [];
  const objects = useObjects(all, text.length >= LEAST);
  const found = [
    ...search(all, text).slice(0, SHOWN).map((kind) => ({
      key: idOf(kind), href: kindHref(kind), title: kind.kind, about: `${kind.group || "core"}/${kind.version}`, end: kind.shortNames.join(" "),
    })),
    ...(text.length >= LEAST ? searchObjects(objects, text) : []).slice(0, SHOWN).map(({ kind, metadata }) => ({
      key: metadata.uid, href: objectHref(kind, metadata.namespace, metadata.name), title: metadata.name, about: kind.kind, end: metadata.namespace || "",
    })),
  ];
  useLayoutEffect(() => input.current.focus(), []);
  useEffect(() => {
    discover().catch((error) => tell(error.message, "bad"));
  }, []);

  const pick = ({ href }) => {
    close();
    choose(href);
  };
  const onKeyDown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((at + step + found.length) % Math.max(found.length, 1));
    else if (event.key === "Enter" && found[at]) pick(found[at]);
    else return;
    event.preventDefault();
  };
  return html`
    <${Dialog} title="Go to a kind or an object" close=${close}>
      <input ref=${input} class="block" role="combobox" aria-label="Kind or object" aria-expanded="true" aria-controls="found"
        aria-activedescendant=${found[at] ? `found-${at}` : undefined} spellcheck=${false} autocomplete="off"
        value=${text} onInput=${(event) => (setText(event.target.value), setAt(0))} onKeyDown=${onKeyDown} />
      <ul id="found" class="found" role="listbox" aria-label="Kinds and objects">${found.map((each, index) => html`
        <li key=${each.key} id="found-${index}" role="option" aria-selected=${String(index === at)} onClick=${() => pick(each)}>
          <b>${each.title}</b> <span class="quiet">${each.about}</span>
          <span class="quiet end">${each.end}</span></li>`)}
      </ul>
    <//>`;
}
