// A command in a container: its output, and lines for its input (exec over a WebSocket).
import { getToken, query } from "./api.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { findKind, objectPath } from "./kinds.js";
import { protocolsOf } from "./sockets.js";

const PROTOCOL = "v4.channel.k8s.io";
const [STDIN, STDOUT, STDERR, ERROR] = [0, 1, 2, 3];
const KEPT = 200_000; // characters

/** Split a command line into words; quotes keep spaces. */
export function wordsOf(text) {
  const found = text.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g);
  return [...found].map(([, double, single, plain]) => plain ?? single ?? double.replaceAll(/\\(.)/g, "$1"));
}

export function Terminal({ pod }) {
  const { namespace, name } = pod.metadata;
  const containers = pod.spec.containers || [];
  const [container, setContainer] = useState(containers[0]?.name || "");
  const [command, setCommand] = useState("sh");
  const [line, setLine] = useState("");
  const [text, setText] = useState("");
  const [running, setRunning] = useState(false);
  const socket = useRef(null);
  const box = useRef();
  const add = (more) => setText((before) => (before + more).slice(-KEPT));
  useEffect(() => () => socket.current?.close(), []);
  useEffect(() => {
    box.current.scrollTop = box.current.scrollHeight;
  }, [text]);

  function run(event) {
    event.preventDefault();
    const path = objectPath(findKind("", "v1", "pods"), namespace, name);
    const asked = new URLSearchParams(query({ container, stdin: "true", stdout: "true", stderr: "true" }));
    for (const word of wordsOf(command)) asked.append("command", word);
    const address = new URL(`${path}/exec?${asked}`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const made = new WebSocket(address, [PROTOCOL, ...protocolsOf(getToken())]);
    made.binaryType = "arraybuffer";
    const decoders = { [STDOUT]: new TextDecoder(), [STDERR]: new TextDecoder(), [ERROR]: new TextDecoder() };
    let ended = false;
    add(`$ ${command}\n`);
    setRunning(true);
    made.onmessage = ({ data }) => {
      const [channel, ...bytes] = new Uint8Array(data);
      const written = decoders[channel]?.decode(new Uint8Array(bytes), { stream: true }) || "";
      if (channel !== ERROR) return void add(written);
      ended = true;
      add(endOf(written));
    };
    made.onclose = () => {
      if (!ended) add("The connection was closed before the command ended.\n");
      setRunning(false);
      socket.current = null;
    };
    socket.current = made;
  }

  function send(event) {
    event.preventDefault();
    const bytes = new TextEncoder().encode(`${line}\n`);
    socket.current?.send(new Uint8Array([STDIN, ...bytes]));
    add(`${line}\n`);
    setLine("");
  }
  return html`
    <form class="bar" onSubmit=${run}>
      <label>Container <select value=${container} onChange=${(event) => setContainer(event.target.value)}>
        ${containers.map((each) => html`<option key=${each.name}>${each.name}</option>`)}</select></label>
      <label class="grow">Command <input class="mono" required spellcheck=${false} value=${command} onInput=${(event) => setCommand(event.target.value)} /></label>
      <button class="primary" disabled=${running}>Run</button>
      ${running && html`<button type="button" onClick=${() => socket.current?.close()}>Stop</button>`}
    </form>
    <pre class="log" ref=${box} tabindex="0" aria-label="Output">${text}</pre>
    <form class="bar" onSubmit=${send}>
      <input class="mono grow" aria-label="Input" placeholder="A line for the command" spellcheck=${false} autocomplete="off"
        disabled=${!running} value=${line} onInput=${(event) => setLine(event.target.value)} />
      <button disabled=${!running}>Send</button>
    </form>`;
}

/** The result in the Status at the end of a command. */
function endOf(text) {
  const status = JSON.parse(text);
  if (status.status === "Success") return "";
  const code = status.details?.causes?.find((each) => each.reason === "ExitCode")?.message;
  return code ? `The command exited with code ${code}.\n` : `${status.message}\n`;
}
