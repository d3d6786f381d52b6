// Actions on an object other than editing: copy, download, scale, restart.
import { ask } from "./api.js";
import { Dialog } from "./dialog.js";
import { html, useEffect, useState } from "./html.js";
import { objectPath } from "./kinds.js";
import { tell } from "./notices.js";
import { withoutManagers } from "./objects.js";
import { copy, download } from "./saving.js";
import { dump } from "./yaml.js";

const RESTARTABLE = ["deployments", "statefulsets", "daemonsets"];
const MERGE = "application/merge-patch+json";

export function Actions({ object, kind, namespace, name, rights }) {
  const [scaling, setScaling] = useState(false);
  const text = () => dump(withoutManagers(object));
  const mayPatch = rights.patch ? rights.patch.allowed : kind.verbs.includes("patch");
  const restarts = kind.group === "apps" && RESTARTABLE.includes(kind.plural);

  async function restart() {
    const annotations = { "kubectl.kubernetes.io/restartedAt": new Date().toISOString() };
    try {
      await ask(objectPath(kind, namespace, name), {
        method: "PATCH", type: MERGE, body: { spec: { template: { metadata: { annotations } } } },
      });
      tell(`${kind.kind} ${name} restarts`);
    } catch (error) {
      tell(error.message, "bad");
    }
  }
  return html`
    ${kind.subresources.scale && html`<button disabled=${!mayPatch} title=${rights.patch?.reason} onClick=${() => setScaling(true)}>Scale</button>`}
    ${restarts && html`<button disabled=${!mayPatch} title=${rights.patch?.reason} onClick=${restart}>Restart</button>`}
    <button onClick=${() => copy(text(), `${kind.kind} ${name}`)}>Copy</button>
    <button onClick=${() => download(text(), `${name}.yaml`)}>Download</button>
    ${scaling && html`<${Scale} kind=${kind} namespace=${namespace} name=${name} close=${() => setScaling(false)} />`}`;
}

function Scale({ kind, namespace, name, close }) {
  const path = `${objectPath(kind, namespace, name)}/scale`;
  const [replicas, setReplicas] = useState("");
  useEffect(() => {
    ask(path).then(({ spec }) => setReplicas(String(spec.replicas ?? 0)), (error) => tell(error.message, "bad"));
  }, [path]);
  async function scale(event) {
    event.preventDefault();
    close();
    try {
      await ask(path, { method: "PATCH", type: MERGE, body: { spec: { replicas: Number(replicas) } } });
      tell(`${kind.kind} ${name} is scaled to ${replicas}`);
    } catch (error) {
      tell(error.message, "bad");
    }
  }
  return html`
    <${Dialog} title="Scale ${kind.kind} ${name}" close=${close}>
      <form class="editor" onSubmit=${scale}>
        <label class="bar">Replicas
          <input type="number" min="0" required value=${replicas} onInput=${(event) => setReplicas(event.target.value)} /></label>
        <div class="bar"><button class="primary">Scale</button><button type="button" onClick=${close}>Cancel</button></div>
      </form>
    <//>`;
}
