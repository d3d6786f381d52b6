// Deletion of one or several objects, after a confirmation.
import { ask } from "./api.js";
import { Dialog } from "./dialog.js";
import { plural } from "./format.js";
import { html, useState } from "./html.js";
import { objectPath } from "./kinds.js";
import { tell } from "./notices.js";

const AT_ONCE = 3; // requests
const NAMED = 5; // objects named in the confirmation

/** `objects` are `{namespace, name}` of one kind; `done()` is called after all requests. */
export function Delete({ kind, objects, close, done = () => {} }) {
  const [policy, setPolicy] = useState("Background");
  const title = objects.length === 1 ? `${kind.kind} ${objects[0].name}` : plural(objects.length, `${kind.kind} object`);

  async function remove(event) {
    event.preventDefault();
    close();
    const waiting = [...objects].reverse();
    let gone = 0;
    const one = async () => {
      for (let each = waiting.pop(); each; each = waiting.pop()) {
        try {
          const path = objectPath(kind, each.namespace, each.name);
          await ask(path, { method: "DELETE", body: { propagationPolicy: policy } });
          gone++;
        } catch (error) {
          tell(`${each.name}: ${error.message}`, "bad");
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    if (gone) tell(objects.length === 1 ? `${title} was deleted` : `${plural(gone, `${kind.kind} object`)} deleted`);
    done();
  }
  return html`
    <${Dialog} title="Delete ${title}?" close=${close}>
      <form class="editor" onSubmit=${remove}>
        ${objects.length > 1 && html`<p class="quiet">${objects.slice(0, NAMED).map((each) => each.name).join(", ")}${objects.length > NAMED ? " …" : ""}</p>`}
        <label class="bar">What it owns
          <select value=${policy} onChange=${(event) => setPolicy(event.target.value)}>
            <option value="Background">goes after it</option>
            <option value="Foreground">goes before it</option>
            <option value="Orphan">stays</option>
          </select></label>
        <div class="bar"><button class="primary">Delete</button><button type="button" onClick=${close}>Keep</button></div>
      </form>
    <//>`;
}
