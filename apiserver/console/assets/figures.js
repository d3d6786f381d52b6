// Figures of the server, from its metrics: objects by kind, requests, the size of the store.
import { askText } from "./api.js";
import { useEffect } from "./html.js";
import { store } from "./store.js";

const EVERY = 5; // seconds between two readings
const KEPT = 60; // readings of the plot
const SLOW = "1.0"; // seconds; a bucket of the histogram
const LINE = /^(apiserver_resource_objects|apiserver_storage_size_bytes|apiserver_request_total|apiserver_request_duration_seconds_(?:bucket|count))(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** `{objects, bytes, requests, errors, slow, rates, faulty}`; `faulty` has the errors and slow requests a second of `rates`; null before the first reading, or if the user may not read metrics. */
export const figures = store(null);

/** Read metrics in Prometheus' format; `objects` has the number of objects by `group/plural`. */
export function parse(text) {
  const found = { objects: new Map(), bytes: 0, requests: 0, errors: 0, slow: 0 };
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = LINE.exec(line) || [];
    if (!name) continue;
    const of = Object.fromEntries([...labels.matchAll(LABEL)].map(([, key, text]) => [key, text]));
    const number = Number(value);
    if (name === "apiserver_resource_objects") found.objects.set(`${of.group}/${of.resource}`, number);
    else if (name === "apiserver_storage_size_bytes") found.bytes = number;
    else if (name === "apiserver_request_total") {
      found.requests += number;
      if (of.code >= "500") found.errors += number;
    } else if (of.verb === "WATCH") continue; // a watch lasts as long as its client wants
    else if (name.endsWith("_count")) found.slow += number;
    else if (of.le === SLOW) found.slow -= number;
  }
  return found;
}

let reading = null;

/** Read the figures once; calls at the same time share a request. */
export function readFigures() {
  reading ||= read().finally(() => (reading = null));
  return reading;
}

async function read() {
  try {
    const next = parse(await askText("/metrics"));
    const before = figures.get();
    const rates = before ? [...before.rates, rate(before, next, all)].slice(-KEPT) : [];
    const faulty = before ? [...before.faulty, rate(before, next, faults)].slice(-KEPT) : [];
    figures.set({ ...next, rates, faulty });
  } catch {
    figures.set(null); // without the permission, and in a saved state, the page has no figures
  }
}

const all = ({ requests }) => requests;
const faults = ({ errors, slow }) => errors + slow;

/** Requests a second between two readings; fewer than before after a new start. */
const rate = (before, next, of) => Math.max(of(next) - of(before), 0) / EVERY;

/** Read the figures as long as the component exists and the page is visible. */
export function useFigures() {
  useEffect(() => {
    readFigures();
    const timer = setInterval(() => document.hidden || (figures.get() && readFigures()), EVERY * 1000);
    return () => clearInterval(timer);
  }, []);
}
