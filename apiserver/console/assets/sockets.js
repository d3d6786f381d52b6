// All watches of the page over one WebSocket, because a browser has six connections to a server for
// all its tabs. If a proxy blocks WebSockets, each watch has its own stream of lines.
import { ApiError, getToken, readLines } from "./api.js";

const SHARED = "/inkube/v1/watch";
const PROTOCOL = "base64.binary.k8s.io"; // selected by the server; a token subprotocol needs another one next to it
const BEARER = "base64url.bearer.authorization.k8s.io.";
const ELSEWHERE = 501; // the response of another process, which does not have the stream
let passes = true;
let shared = null;
let count = 0;

/**
 * Call `onEvent` with every parsed event of a watch, until the server ends it or `signal` aborts it.
 * Throws ApiError if it is refused, and the errors of `onEvent`.
 */
export async function readEvents(path, onEvent, options) {
  if (passes) {
    const ended = await readShared(path, onEvent, options);
    if (ended || options.signal.aborted) return;
  }
  const onLine = (line) => line && onEvent(JSON.parse(line));
  await readLines(path, onLine, options); // which gives the reason if it is refused
}

/** Whether the stream served the watch; otherwise the caller opens its own connection. */
async function readShared(path, onEvent, { accept, signal, onOpen }) {
  const token = getToken();
  if (shared?.token !== token) shared = new Stream(token);
  const stream = shared;
  const id = String(++count);
  try {
    return await new Promise((done, fail) => {
      signal.addEventListener("abort", () => done(true), { once: true });
      stream.add(id, { open: id, path, ...(accept && { accept }) }, {
        onOpen,
        onEvent: (event) => {
          try {
            onEvent(event);
          } catch (error) {
            fail(error);
          }
        },
        onClosed: ({ status, code, ...rest }) => {
          if (status === "Success" || code === 429) done(true);
          else if (code === ELSEWHERE) done(false);
          else fail(new ApiError(code, rest));
        },
        onLost: (opened) => done(opened),
      });
    });
  } finally {
    stream.remove(id);
  }
}

/** One WebSocket, opened with the first watch and closed after the last. */
class Stream {
  #socket;
  #watches = new Map();
  #waiting = [];

  constructor(token) {
    this.token = token;
    const address = new URL(SHARED, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    this.#socket = new WebSocket(address, protocols(token));
    let opened = false;
    this.#socket.onopen = () => {
      opened = passes = true;
      for (const message of this.#waiting) this.#send(message);
      this.#waiting = [];
    };
    this.#socket.onmessage = ({ data }) => this.#take(JSON.parse(data));
    this.#socket.onclose = () => {
      if (shared === this) shared = null;
      passes &&= opened;
      for (const watch of this.#watches.values()) watch.onLost(opened);
    };
  }

  add(id, message, watch) {
    this.#watches.set(id, watch);
    if (this.#socket.readyState === WebSocket.CONNECTING) this.#waiting.push(message);
    else this.#send(message);
  }

  remove(id) {
    if (!this.#watches.delete(id)) return;
    this.#waiting = this.#waiting.filter((message) => message.open !== id);
    if (this.#watches.size === 0) this.#close();
    else if (this.#socket.readyState === WebSocket.OPEN) this.#send({ close: id });
  }

  #close() {
    if (shared === this) shared = null;
    this.#socket.close();
  }

  #send(message) {
    this.#socket.send(JSON.stringify(message));
  }

  #take({ watch: id, opened, event, closed }) {
    const watch = this.#watches.get(id);
    if (!watch) return;
    if (opened) watch.onOpen?.();
    if (event) watch.onEvent(event);
    if (closed) {
      this.#watches.delete(id);
      watch.onClosed(closed);
      if (this.#watches.size === 0) this.#close();
    }
  }
}

const protocols = (token) => (token ? [PROTOCOL, ...protocolsOf(token)] : []);

/** The subprotocol that carries a token; none without a token. */
export function protocolsOf(token) {
  if (!token) return [];
  return [BEARER + btoa(token).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")];
}
