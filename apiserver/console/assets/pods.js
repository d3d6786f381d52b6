// The pods of a workload, and the live logs of their containers.
import { query, readLines } from "./api.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { findKind, objectPath } from "./kinds.js";
import { useList } from "./lists.js";
import { objectHref } from "./router.js";
import { download } from "./saving.js";

const KEPT = 2000; // lines
const GATHER = 100;

export function Logs({ pod }) {
  const { namespace, name } = pod.metadata;
  const containers = [...(pod.spec.initContainers || []), ...(pod.spec.containers || [])];
  const [container, setContainer] = useState(pod.spec.containers?.[0]?.name || "");
  const [lines, setLines] = useState([]);
  const [failure, setFailure] = useState("");
  const [following, setFollowing] = useState(true);
  const [timestamps, setTimestamps] = useState(false);
  const [previous, setPrevious] = useState(false);
  const [wanted, setWanted] = useState("");
  const box = useRef();

  useEffect(() => {
    const control = new AbortController();
    let kept = [];
    let timer = 0;
    setLines([]);
    setFailure("");
    const path = objectPath(findKind("", "v1", "pods"), namespace, name);
    const onLine = (line) => {
      kept.push(line);
      if (kept.length > KEPT) kept = kept.slice(-KEPT);
      timer ||= setTimeout(() => ((timer = 0), setLines([...kept])), GATHER);
    };
    readLines(`${path}/log${query({
      container, follow: previous ? "" : "true", tailLines: KEPT,
      timestamps: timestamps ? "true" : "", previous: previous ? "true" : "",
    })}`, onLine,
      { signal: control.signal, accept: "*/*" })
      .catch((error) => control.signal.aborted || setFailure(error.message));
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [namespace, name, container, timestamps, previous]);
  useEffect(() => {
    if (following) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, following]);

  const shown = wanted ? lines.filter((line) => line.toLowerCase().includes(wanted.toLowerCase())) : lines;
  return html`
    <div class="bar">
      <label>Container <select value=${container} onChange=${(event) => setContainer(event.target.value)}>
        ${containers.map((each) => html`<option key=${each.name}>${each.name}</option>`)}</select></label>
      <label class="check"><input type="checkbox" checked=${following}
        onChange=${(event) => setFollowing(event.target.checked)} /> Stay at the end</label>
      <label class="check"><input type="checkbox" checked=${timestamps}
        onChange=${(event) => setTimestamps(event.target.checked)} /> Timestamps</label>
      <label class="check"><input type="checkbox" checked=${previous}
        onChange=${(event) => setPrevious(event.target.checked)} /> Previous</label>
      <span class="grow"></span>
      <input type="search" aria-label="Search the log" placeholder="Search" spellcheck=${false} value=${wanted}
        onInput=${(event) => setWanted(event.target.value)} />
      ${wanted && html`<span class="count">${shown.length} of ${lines.length} lines</span>`}
      <button onClick=${() => download(`${lines.join("\n")}\n`, `${name}-${container}.log`)}>Download</button>
    </div>
    ${failure && html`<p class="notice bad" role="alert">${failure}</p>`}
    <pre class="log" ref=${box} tabindex="0" aria-label="Log">${shown.join("\n")}</pre>`;
}

function selectorOf({ matchLabels = {}, matchExpressions = [] }) {
  const words = Object.entries(matchLabels).map(([name, value]) => `${name}=${value}`);
  for (const { key, operator, values } of matchExpressions) {
    if (operator === "Exists") words.push(key);
    else if (operator === "DoesNotExist") words.push(`!${key}`);
    else words.push(`${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`);
  }
  return words.join(",");
}

export function Pods({ owner }) {
  const kind = findKind("", "v1", "pods");
  const { namespace } = owner.metadata;
  const { items: pods } = useList(kind, namespace, { labelSelector: selectorOf(owner.spec.selector) });
  return html`
    <div class="scroll"><table class="facts"><thead><tr><th>Pod</th><th>Phase</th><th>Node</th><th>Logs</th></tr></thead>
      <tbody>${pods.map(({ metadata, spec, status }) => html`
        <tr key=${metadata.name}><td><a href=${objectHref(kind, namespace, metadata.name)}>${metadata.name}</a></td>
          <td>${status?.phase}</td><td>${spec.nodeName}</td>
          <td><a href=${objectHref(kind, namespace, metadata.name, "logs")} aria-label="Logs of ${metadata.name}">Logs</a></td></tr>`)}
      </tbody></table></div>
    ${!pods.length && html`<p class="empty">No pods.</p>`}`;
}
