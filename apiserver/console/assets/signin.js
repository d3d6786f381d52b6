// The form to sign in with a token.
import { html, useState } from "./html.js";
import { signIn } from "./session.js";

export function SignIn() {
  const [refusal, setRefusal] = useState("");
  const [busy, setBusy] = useState(false);

  async function submit(event) {
    event.preventDefault();
    const token = new FormData(event.target).get("token");
    setBusy(true);
    setRefusal("");
    try {
      await signIn(token);
    } catch (error) {
      setRefusal(error.code === 401 ? "The server does not know this token." : error.message);
      setBusy(false);
    }
  }

  return html`
    <main class="centre">
      <form class="card signin" onSubmit=${submit}>
        <h1>Sign in to inkube</h1>
        <p class="quiet">With a bearer token: of the token file, of the kubeconfig
          the server wrote, or of <code>kubectl create token NAME</code>.</p>
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="off" required autofocus
          spellcheck=${false} aria-invalid=${refusal ? "true" : "false"}
          aria-describedby=${refusal ? "refusal" : undefined} />
        ${refusal && html`<p id="refusal" class="bad" role="alert">${refusal}</p>`}
        <button class="primary" disabled=${busy}>Sign in</button>
      </form>
    </main>`;
}
