// The entry point: signs in, then shows the frame with the page of the address.
import { html, render } from "./html.js";
import { begin, user } from "./session.js";
import { Shell } from "./shell.js";
import { SignIn } from "./signin.js";
import { useStore } from "./store.js";

function Console({ failure }) {
  const who = useStore(user);
  if (failure) return html`<main class="centre"><h1>The server does not answer</h1><p>${failure}</p></main>`;
  if (who === undefined) return null;
  return who ? html`<${Shell} />` : html`<${SignIn} />`;
}

const place = document.getElementById("console");
try {
  await begin();
  place.replaceChildren();
  render(html`<${Console} />`, place);
} catch (error) {
  place.replaceChildren();
  render(html`<${Console} failure=${error.message} />`, place);
}
