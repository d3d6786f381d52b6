// Where a visit begins.
import { html } from "./html.js";
export default function Overview() { return html`<div class="page"><h1>Overview</h1></div>`; }
