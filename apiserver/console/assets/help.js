// The dialog with the current keyboard shortcuts.
import { Dialog } from "./dialog.js";
import { html } from "./html.js";
import { listKeys, singleKeys } from "./keys.js";
import { useStore } from "./store.js";

export function Help({ close }) {
  const on = useStore(singleKeys);
  return html`
    <${Dialog} title="Keys" close=${close}>
      <dl class="keys">${listKeys().map(([key, what]) => html`
        <div key=${key}><dt>${key.split(" ").map((each) => html`<kbd>${each}</kbd>`)}</dt><dd>${what}</dd></div>`)}
      </dl>
      <label class="check"><input type="checkbox" checked=${on}
        onChange=${(event) => singleKeys.set(event.target.checked)} /> Enable single-key shortcuts</label>
    <//>`;
}
