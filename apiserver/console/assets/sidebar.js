// The sidebar: kinds by group, and the other pages.
import { html, useEffect, useRef, useState } from "./html.js";
import { figures, readFigures } from "./figures.js";
import { ABOUT, kinds } from "./kinds.js";
import { kindHref } from "./router.js";
import { kept, useStore } from "./store.js";

const closed = kept("closed-groups", []);
const USED = "with objects";
const PAGES = [["", "Overview"], ["world", "Outside systems"], ["requests", "Requests"], ["control", "Control"]];
if (window.differences) PAGES.unshift(["diff", "Differences"]);

export function Sidebar({ open, current, page }) {
  const [text, setText] = useState("");
  const found = (useStore(kinds) || []).filter((kind) => kind.verbs.includes("list"));
  const wanted = text.toLowerCase();
  const nav = useRef();
  useEffect(() => {
    nav.current.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [current]);
  const fits = (kind) =>
    `${kind.kind} ${kind.plural} ${kind.group} ${kind.shortNames.join(" ")}`.toLowerCase().includes(wanted);
  const { objects } = useStore(figures) || {};
  useEffect(() => void (figures.get() || readFigures()), []);
  const [used, others] = apart(found.filter(fits), (kind) => objects?.get(`${kind.group}/${kind.plural}`) > 0);
  const groups = [[USED, used], ...Map.groupBy(others, (kind) => kind.group)].filter(([, members]) => members.length);
  return html`
    <nav id="side" ref=${nav} class="side ${open ? "open" : ""}" aria-label="Kinds and pages">
      <ul class="pages">${PAGES.map(([name, title]) => html`
        <li key=${name}><a href="#/${name}" aria-current=${page === name ? "page" : undefined}>${title}</a></li>`)}
      </ul>
      <input type="search" class="block" aria-label="Filter kinds" placeholder="Filter kinds" value=${text}
        spellcheck=${false} onInput=${(event) => setText(event.target.value)} />
      ${groups.map(([group, members]) => html`
        <${Group} key=${group} name=${group} members=${members} current=${current} all=${text !== ""} />`)}
    </nav>`;
}

/** Members that fit, and the others. */
const apart = (all, fits) => [all.filter(fits), all.filter((each) => !fits(each))];

function Group({ name, members, current, all }) {
  const hidden = useStore(closed);
  const shown = all || !hidden.includes(name);
  const toggle = () =>
    closed.set(shown ? [...hidden, name] : hidden.filter((each) => each !== name));
  return html`
    <section class="group">
      <h2><button class="plain" aria-expanded=${String(shown)} onClick=${toggle}>${name || "core"}</button></h2>
      ${shown && ABOUT[name] && html`<p class="about">${ABOUT[name]}</p>`}
      ${shown && html`<ul>${members.map((kind) => html`
        <li key=${kind.plural}><a href=${kindHref(kind)} aria-current=${kind === current ? "page" : undefined}>${kind.kind}</a></li>`)}
      </ul>`}
    </section>`;
}
