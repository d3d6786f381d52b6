// The frame of every page: the top bar, the sidebar with the kinds, the page between them.
import { html, useEffect, useRef, useState } from "./html.js";
import { Help } from "./help.js";
import { useKeys } from "./keys.js";
import { kinds } from "./kinds.js";
import { NamespacePicker } from "./namespaces.js";
import { Notices } from "./notices.js";
import { Palette } from "./palette.js";
import { past } from "./past.js";
import { go, route } from "./router.js";
import { hasToken, signOut, user } from "./session.js";
import { Sidebar } from "./sidebar.js";
import { useStore } from "./store.js";
import { nextTheme } from "./themes.js";
import { PastNotice } from "./timeline.js";

// each page is loaded when it is first opened
const PAGES = {
  "": () => import("./overview.js"),
  kind: () => import("./table.js"),
  object: () => import("./object.js"),
  new: () => import("./creating.js"),
  world: () => import("./world.js"),
  requests: () => import("./requests.js"),
  control: () => import("./control.js"),
  diff: () => import("./differences.js"),
};
const absent = () => import("./absent.js");

export function Shell() {
  const { parts, query } = useStore(route);
  const [Page, setPage] = useState(null);
  const [open, setOpen] = useState("");
  const [menu, setMenu] = useState(false);
  const main = useRef();
  const shown = useStore(past);
  const name = parts[0] || "";
  const close = () => setOpen("");

  useEffect(() => {
    let left = false;
    (Object.hasOwn(PAGES, name) ? PAGES[name] : absent)().then((found) => left || setPage(() => found.default));
    return () => (left = true);
  }, [name]);
  useEffect(() => setMenu(false), [parts.join("/")]);

  useKeys({
    "?": [() => setOpen("help"), "This help"],
    ":": [() => setOpen("palette"), "Go to a kind or an object"],
    "Ctrl+k": [() => setOpen("palette"), ""],
    "g k": [() => setOpen("palette"), "Go to a kind"],
    "g h": [() => go("#/"), "Go to the overview"],
    "g w": [() => go("#/world"), "Go to the outside systems"],
    "g r": [() => go("#/requests"), "Go to the requests"],
    "g c": [() => go("#/control"), "Go to the control of the server"],
    "g n": [() => document.getElementById("namespace")?.focus(), "Choose a namespace"],
    t: [nextTheme, "Light, dark, as the system"],
  });

  const skip = (event) => {
    event.preventDefault();
    main.current.focus();
  };
  const found = useStore(kinds) || [];
  const [, group, version, plural] = parts;
  const kind = found.find((each) => each.plural === plural && (each.group || "core") === group);
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the page</a>
    <header class="topbar">
      <button class="menu" aria-expanded=${String(menu)} aria-controls="side"
        onClick=${() => setMenu(!menu)}><span aria-hidden="true">☰</span><span class="hidden">Kinds</span></button>
      <a class="brand" href="#/"><img src="icon.svg" alt="" width="20" height="20" /> inkube</a>
      <${NamespacePicker} />
      <button class="goto" onClick=${() => setOpen("palette")}>Go to… <kbd>:</kbd></button>
      <span class="grow"></span>
      <${Me} />
      <button class="icon" title="Theme (t)" aria-label="Theme" onClick=${nextTheme}>◐</button>
      <button class="icon" title="Keys (?)" aria-label="Keys and help" onClick=${() => setOpen("help")}>?</button>
    </header>
    <${PastNotice} />
    <div class="frame">
      <${Sidebar} open=${menu} current=${kind} page=${name} />
      <main id="main" ref=${main} tabindex="-1" key=${[shown?.revision, ...parts.slice(0, 6)].join("/")}>
        ${Page && html`<${Page} parts=${parts.slice(1)} query=${query} />`}
      </main>
    </div>
    <${Notices} />
    ${open === "help" && html`<${Help} close=${close} />`}
    ${open === "palette" && html`<${Palette} close=${close} choose=${go} />`}`;
}

function Me() {
  const { username } = useStore(user) || {};
  return html`
    <span class="me" title="signed in as ${username}">${username}</span>
    ${hasToken() && html`<button class="plain" onClick=${signOut}>Sign out</button>`}`;
}
