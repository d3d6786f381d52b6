// The server itself: its clock, snapshots, forks, and the state of its start.
import { ask } from "./api.js";
import { moment } from "./format.js";
import { html, useEffect, useState } from "./html.js";
import { tell } from "./notices.js";

const ROOT = "/inkube/v1";

export default function Control() {
  const [found, setFound] = useState({ snapshots: [], forks: [] });
  const [name, setName] = useState("");
  const [seconds, setSeconds] = useState("3600");
  const [busy, setBusy] = useState(false);
  const look = () => ask(ROOT).then(setFound, (error) => tell(error.message, "bad"));
  useEffect(() => void look(), []);

  /** Execute an action, show a notice, and load the new state. */
  async function act(action, body, done, method = "POST") {
    setBusy(true);
    try {
      const answer = await ask(`${ROOT}/${action}`, { method, body });
      tell(typeof done === "function" ? done(answer) : done);
      await look();
    } catch (error) {
      tell(error.message, "bad");
    } finally {
      setBusy(false);
    }
  }
  const sure = (text, work) => confirm(text) && work();
  const advance = (event) => {
    event.preventDefault();
    act("advance", { seconds: Number(seconds) }, ({ time }) => `It is ${time} now.`);
  };
  const take = (event) => {
    event.preventDefault();
    act("snapshot", { name }, `Snapshot ${name} is taken.`).then(() => setName(""));
  };
  const fork = (snapshot) => {
    const taken = found.forks.map((each) => each.name);
    const free = Array.from({ length: taken.length + 1 }, (_, at) => `fork-${at + 1}`).find((one) => !taken.includes(one));
    act("fork", { name: free, ...(snapshot && { snapshot }) }, ({ url }) => `${free} serves at ${url}.`);
  };
  return html`
    <div class="page">
      <div class="head"><h1>Control</h1><span class="quiet small">${found.time && `The server's time is ${moment(found.time)}.`}</span></div>
      <div class="switches" role="group" aria-label="The server">
        <button disabled=${busy} onClick=${() => act("settled", {}, ({ revision }) => `Settled at revision ${revision}.`)}>Settle</button>
        <button disabled=${busy} onClick=${() => fork("")}>Fork</button>
        <button disabled=${busy} onClick=${() => sure("Remove everything that was made since the server started?", () => act("reset", {}, "The state is that of the start."))}>Reset</button>
      </div>
      <h2>Clock</h2>
      <form class="switches" onSubmit=${advance}>
        <label>Seconds <input type="number" min="0" value=${seconds} onInput=${(event) => setSeconds(event.target.value)} /></label>
        <button disabled=${busy}>Advance</button>
      </form>
      <h2>Snapshots</h2>
      <form class="switches" onSubmit=${take}>
        <label>Name <input required maxlength="64" value=${name} onInput=${(event) => setName(event.target.value)} /></label>
        <button disabled=${busy}>Take a snapshot</button>
      </form>
      ${found.snapshots.length > 0 && html`
        <div class="scroll"><table class="facts">
          <thead><tr><th>Snapshot</th><th>Revision</th><th>Actions</th></tr></thead>
          <tbody>${found.snapshots.map((each) => html`
            <tr key=${each.name}><td>${each.name}</td><td>${each.revision}</td><td>
              <button disabled=${busy} onClick=${() => sure(`Replace the present state with snapshot ${each.name}?`, () => act("restore", { name: each.name }, `Snapshot ${each.name} is restored.`))}>Restore ${each.name}</button>
              <button disabled=${busy} onClick=${() => fork(each.name)}>Fork ${each.name}</button>
              <button disabled=${busy} onClick=${() => act(`snapshot/${encodeURIComponent(each.name)}`, undefined, `Snapshot ${each.name} is forgotten.`, "DELETE")}>Forget ${each.name}</button>
            </td></tr>`)}</tbody>
        </table></div>`}
      ${found.forks.length > 0 && html`
        <h2>Forks</h2>
        <div class="scroll"><table class="facts">
          <thead><tr><th>Fork</th><th>Address</th><th>Actions</th></tr></thead>
          <tbody>${found.forks.map((each) => html`
            <tr key=${each.name}><td>${each.name}</td><td><a href=${`${each.url}/console/`}>${each.url}</a></td><td>
              <button disabled=${busy} onClick=${() => act(`fork/${encodeURIComponent(each.name)}`, undefined, `${each.name} is stopped.`, "DELETE")}>Stop ${each.name}</button>
            </td></tr>`)}</tbody>
        </table></div>`}
    </div>`;
}
