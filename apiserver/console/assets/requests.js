// Live requests of the server: client, duration, bodies.
import { readLines } from "./api.js";
import { clockTime, plural } from "./format.js";
import { html, useEffect, useMemo, useRef, useState } from "./html.js";
import { useKeys } from "./keys.js";
import { State } from "./table.js";
import { Painted } from "./yamlview.js";
import { dump } from "./yaml.js";

const KEPT = 1000;
const SHOWN = 200;
const GATHER = 200; // milliseconds
const METHODS = {
  get: "GET", list: "GET", watch: "GET", create: "POST", update: "PUT", patch: "PATCH",
  delete: "DELETE", deletecollection: "DELETE",
};
const LEFT_OUT = "console.inkube.dev/left-out";

const milliseconds = (event) => Date.parse(event.stageTimestamp) - Date.parse(event.requestReceivedTimestamp);
const methodOf = (event) => METHODS[event.verb] || event.verb.toUpperCase();

function useRequests(paused) {
  const [events, setEvents] = useState([]);
  const [state, setState] = useState("loading");
  const [error, setError] = useState(null);
  const still = useRef(paused);
  still.current = paused;
  const kept = useRef([]);
  useEffect(() => {
    const control = new AbortController();
    let timer = 0;
    const hear = (line) => {
      if (!line) return;
      kept.current.push(JSON.parse(line));
      if (kept.current.length > KEPT) kept.current.splice(0, kept.current.length - KEPT);
      timer ||= setTimeout(() => {
        timer = 0;
        if (!still.current) setEvents([...kept.current]);
      }, GATHER);
    };
    const run = async () => {
      while (!control.signal.aborted) {
        kept.current = [];
        try {
          await readLines("/debug/requests", hear, { signal: control.signal, onOpen: () => setState("live") });
        } catch (failure) {
          if (control.signal.aborted) return;
          if (failure.code) return void setError(failure);
        }
        setState("lost");
        await new Promise((done) => setTimeout(done, 1000));
      }
    };
    run();
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, []);
  const clear = () => {
    kept.current = [];
    setEvents([]);
  };
  return { events, state, error, clear };
}

export default function Requests({ query }) {
  const [paused, setPaused] = useState(false);
  const [text, setText] = useState(query.q || "");
  const [own, setOwn] = useState(false);
  const [open, setOpen] = useState("");
  const search = useRef();
  const { events, state, error, clear } = useRequests(paused);
  const shown = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (event) => {
      if (!own && event.userAgent === navigator.userAgent) return false;
      const all = `${methodOf(event)} ${event.verb} ${event.requestURI} ${event.responseStatus.code} ${event.user.username || ""}`.toLowerCase();
      return words.every((word) => all.includes(word));
    };
    return events.filter(fits).slice(-SHOWN).reverse();
  }, [events, text, own]);
  useEffect(() => {
    document.title = "Requests · inkube";
  }, []);
  const at = shown.findIndex((each) => each.auditID === open);
  const step = (by) => shown.length && setOpen(shown[Math.min(Math.max(at + by, 0), shown.length - 1)].auditID);
  useKeys({
    j: [() => step(1), "Next request"],
    k: [() => step(-1), "Request before"],
    p: [() => setPaused(!paused), "Pause, go on"],
    "/": [() => search.current.focus(), "Search"],
    Escape: [() => setOpen(""), ""],
  });
  return html`
    <div class="page requests">
      <div class="head"><h1>Requests</h1><${State} state=${state} /><span class="grow"></span>
        <input ref=${search} class="search" type="search" aria-label="Search requests" placeholder="Search  /" value=${text}
          spellcheck=${false} onInput=${(event) => setText(event.target.value)} />
        <label class="check"><input type="checkbox" checked=${own} onChange=${(event) => setOwn(event.target.checked)} /> This browser's, too</label>
        <button aria-pressed=${String(paused)} onClick=${() => setPaused(!paused)}>Pause</button>
        <button onClick=${clear}>Clear</button>
      </div>
      ${error && html`<p class="notice bad" role="alert">${error.message}</p>`}
      <p class="quiet small">Recorded while this page is open. ${plural(shown.length, "request")} shown.</p>
      <div class="scroll" tabindex="0" role="region" aria-label="Requests"><table class="facts">
        <thead><tr><th>Time</th><th>Method</th><th>Path</th><th>Code</th><th>ms</th><th>Who</th></tr></thead>
        <tbody>${shown.map((event) => html`
          <${Request} key=${event.auditID} event=${event} open=${event.auditID === open}
            toggle=${() => setOpen(open === event.auditID ? "" : event.auditID)} />`)}</tbody>
      </table></div>
      ${!shown.length && state === "live" && html`<p class="empty">No request yet.</p>`}
    </div>`;
}

function Request({ event, open, toggle }) {
  const { code } = event.responseStatus;
  const sort = code >= 500 ? "bad" : code >= 400 ? "warn" : "good";
  return html`
    <tr class=${open ? "open" : ""}>
      <td class="mono">${clockTime(event.requestReceivedTimestamp)}</td>
      <td class="mono">${methodOf(event)}</td>
      <td class="mono"><button class="plain mono" aria-expanded=${String(open)} onClick=${toggle}>${event.requestURI}</button></td>
      <td><span class="chip ${sort}">${code}</span></td>
      <td class="mono">${milliseconds(event)}</td>
      <td title=${event.userAgent}>${event.user.username || "nobody"}</td>
    </tr>
    ${open && html`<tr><td colspan="6"><${Bodies} event=${event} /></td></tr>`}`;
}

function Bodies({ event }) {
  const { requestObject, responseObject, responseStatus, annotations = {}, userAgent } = event;
  return html`
    <p class="quiet small">${event.verb} by ${userAgent || "an unnamed client"}${annotations[LEFT_OUT] ? `; left out: ${annotations[LEFT_OUT]}` : ""}</p>
    ${responseStatus.message && html`<p class="notice bad">${responseStatus.message}</p>`}
    <div class="bodies">
      <${Body} title="Sent" body=${requestObject} /><${Body} title="Answered" body=${responseObject} />
    </div>`;
}

function Body({ title, body }) {
  if (!body) return html`<section><h3>${title}</h3><p class="quiet small">No body was recorded.</p></section>`;
  const lines = dump(body).trimEnd().split("\n");
  return html`<section><h3>${title}</h3><pre tabindex="0" aria-label=${title}>${lines.map((line, at) => html`<${Painted} key=${at} line=${line} />${"\n"}`)}</pre></section>`;
}
