// Short notices: results of actions, errors, and warnings of the server.
import { warnings } from "./api.js";
import { html, useEffect } from "./html.js";
import { store, useStore } from "./store.js";

const SHOWN = 4;
const SECONDS = 8;
const notices = store([]);
let count = 0;

/** Show a notice; `sort` is good, bad or warn. Bad ones stay until they are closed. */
export function tell(text, sort = "good") {
  const notice = { id: ++count, text, sort };
  notices.set([...notices.get(), notice].slice(-SHOWN));
  if (sort !== "bad") setTimeout(() => drop(notice.id), SECONDS * 1000);
}

const drop = (id) => notices.set(notices.get().filter((each) => each.id !== id));

export function Notices() {
  useEffect(() => warnings.subscribe((found) => found.length && tell(found.at(-1), "warn")), []);
  return html`
    <div class="notices" role="status" aria-live="polite">
      ${useStore(notices).map(({ id, text, sort }) => html`
        <p key=${id} class="toast ${sort}">${text}
          <button class="icon" aria-label="Close this notice" onClick=${() => drop(id)}>✕</button></p>`)}
    </div>`;
}
