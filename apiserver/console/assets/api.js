// Requests to the server: JSON, streams of lines, errors as ApiError.
import { store } from "./store.js";

const TOKEN = "inkube.token";

/** Whether the user must sign in, which is set after a 401. */
export const signedOut = store(false);
/** Warnings of the server, newest last; `notices.js` shows them. */
export const warnings = store([]);

/** An error response: `code`, and the members of its Status. */
export class ApiError extends Error {
  constructor(code, status) {
    super(status.message || `the server answered ${code}`);
    this.code = code;
    this.reason = status.reason || "";
    this.causes = status.details?.causes || [];
    this.details = status.details || {};
  }
}

export const getToken = () => sessionStorage.getItem(TOKEN) || "";

/** Use a token from now on; "" removes it. It is kept as long as the tab. */
export function setToken(token) {
  if (token) sessionStorage.setItem(TOKEN, token);
  else sessionStorage.removeItem(TOKEN);
  signedOut.set(false);
}

async function send(path, { method = "GET", body, type, accept, signal } = {}) {
  const headers = { Accept: accept || "application/json" };
  const token = getToken();
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = type || "application/json";
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const answer = await fetch(path, { method, headers, body: text, signal, cache: "no-store" });
  if (answer.status === 401) signedOut.set(true);
  if (!answer.ok) throw new ApiError(answer.status, await readStatus(answer));
  return answer;
}

async function readStatus(answer) {
  const text = await answer.text();
  try {
    const found = JSON.parse(text);
    return found && typeof found === "object" ? found : { message: text };
  } catch {
    return { message: text.trim() };
  }
}

function readWarnings(answer) {
  const header = answer.headers.get("Warning");
  return header ? [...header.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map((m) => unquote(m[1])) : [];
}

const unquote = (text) => text.replaceAll(/\\(.)/g, "$1");

/** The JSON of a response. Throws ApiError, and the errors of `fetch`. */
export async function ask(path, options = {}) {
  const answer = await send(path, options);
  const told = readWarnings(answer);
  if (told.length && !options.quiet) warnings.set([...warnings.get(), ...told].slice(-20));
  const found = await answer.json();
  return options.quiet ? { object: found, warnings: told } : found;
}

/** The text of a response. */
export async function askText(path, options) {
  return (await send(path, options)).text();
}

/** Call `onLine` with every line of a response until it ends or `signal` aborts it. */
export async function readLines(path, onLine, options = {}) {
  const answer = await send(path, options);
  options.onOpen?.();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) onLine(line);
  }
  if (rest) onLine(rest);
}

/** A query string of the non-empty values, with its question mark. */
export function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value != null);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}
