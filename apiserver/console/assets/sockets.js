// Watches over WebSocket. A browser has six connections to a server for all its tabs, and far more
// WebSockets; where a proxy lets none through, a watch is a stream of lines as ever.
import { getToken, readLines } from "./api.js";

const PROTOCOL = "base64.binary.k8s.io"; // said back by the server; a token has to have one beside it
const BEARER = "base64url.bearer.authorization.k8s.io.";
let passes = true;

/** As `readLines`: call `onLine` with every message until the end, or until `signal` aborts it. */
export async function readMessages(path, onLine, options) {
  if (passes && (await readSocket(path, onLine, options))) return;
  if (options.signal.aborted) return;
  await readLines(path, onLine, options); // which tells why, where it is refused
  passes = false;
}

/** Whether there was a WebSocket at all. Throws what `onLine` throws. */
function readSocket(path, onLine, { signal, onOpen }) {
  const address = new URL(path, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const socket = new WebSocket(address, protocols());
  return new Promise((done, fail) => {
    let opened = false;
    const stop = () => socket.close();
    signal.addEventListener("abort", stop, { once: true });
    socket.onopen = () => {
      opened = true;
      onOpen?.();
    };
    socket.onmessage = ({ data }) => {
      try {
        onLine(data);
      } catch (error) {
        fail(error);
        socket.close();
      }
    };
    socket.onclose = () => {
      signal.removeEventListener("abort", stop);
      done(opened);
    };
  });
}

function protocols() {
  const token = getToken();
  if (!token) return [];
  const text = btoa(token).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return [PROTOCOL, BEARER + text];
}
