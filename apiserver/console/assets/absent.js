// The page for an unknown address of the console.
import { html, useEffect } from "./html.js";
import { route } from "./router.js";

export default function Absent() {
  useEffect(() => {
    document.title = "No such page · inkube";
  }, []);
  return html`
    <div class="page">
      <h1>No such page</h1>
      <p class="notice">The console has no page <code>${route.get().parts.join("/")}</code>. <a href="#/">Go to the overview</a>.</p>
    </div>`;
}
