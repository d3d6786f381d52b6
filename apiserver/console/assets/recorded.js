// The server of a saved page: recorded responses instead of requests. A plain script that runs
// before the console's own, in pages that `console.report` writes.
"use strict";
{
  const recorded = JSON.parse(document.getElementById("recorded").textContent);
  if (recorded.differences) {
    window.differences = recorded.differences;
    location.hash ||= "#/diff";
  }
  const LIST = /^(\/apis\/[^/]+\/[^/]+|\/api\/v1)(?:\/namespaces\/([^/]+))?\/([^/]+)$/;
  const REFUSED = "This page is a report: nothing can be changed, and no container runs. Serve the state to go on.";

  const json = (object, code = 200) =>
    new Response(JSON.stringify(object), { status: code, headers: { "Content-Type": "application/json" } });
  const refuse = (code, message) => json({ kind: "Status", status: "Failure", code, message }, code);
  /** A stream with these lines, which then stays open. */
  const stream = (lines, ends) => {
    const body = new ReadableStream({
      start(control) {
        control.enqueue(new TextEncoder().encode(lines.map((each) => `${JSON.stringify(each)}\n`).join("")));
        if (ends) control.close();
      },
    });
    return new Response(body);
  };

  const fitsLabels = (labels = {}, selector) =>
    (selector.match(/[^,(]+(?:\([^)]*\))?/g) || []).every((part) => {
      const [, name, word, values] = /^\s*!?([^\s=!]+)\s*(in|notin)?\s*(?:\(([^)]*)\))?/.exec(part);
      if (word) return values.split(",").includes(labels[name]) === (word === "in");
      const [, , value] = /^([^=]+)={1,2}(.*)$/.exec(part) || [];
      if (value !== undefined) return labels[name] === value;
      return part.trim().startsWith("!") ? !(name in labels) : name in labels;
    });
  const fitsFields = (object, selector) =>
    selector.split(",").filter(Boolean).every((part) => {
      const [path, value] = part.split("=");
      return String(path.split(".").reduce((here, step) => here?.[step], object) ?? "") === value;
    });

  function list(path, asked, accept) {
    const [, root, namespace, plural] = LIST.exec(path);
    const found = recorded.lists[`${root}/${plural}`];
    if (!found) return refuse(404, "the server could not find the requested resource");
    const fits = (object) =>
      (!namespace || object.metadata.namespace === namespace) &&
      fitsFields(object, asked.get("fieldSelector") || "") &&
      fitsLabels(object.metadata.labels, asked.get("labelSelector") || "");
    if (asked.has("watch")) {
      const isHistory = asked.get("resourceVersion") === "1";
      const events = isHistory ? (recorded.history[`${root}/${plural}`] || []).filter((each) => fits(each.object)) : [];
      return stream(asked.has("timeoutSeconds") ? [] : events, asked.has("timeoutSeconds"));
    }
    if (!accept.includes("as=Table")) return json({ ...found.list, items: found.list.items.filter(fits) });
    const all = new Map(found.list.items.map((each) => [each.metadata.uid, each]));
    const rows = (found.table.rows || []).filter(({ object }) => fits(all.get(object.metadata.uid) || object));
    return json({ ...found.table, rows });
  }

  window.fetch = async (address, { method = "GET", headers = {} } = {}) => {
    const { pathname: path, searchParams: asked } = new URL(address, "file:///");
    if (path.endsWith("/selfsubjectreviews")) return json(recorded.user);
    if (path.endsWith("/selfsubjectaccessreviews")) return json({ status: { allowed: false, reason: REFUSED } });
    if (method !== "GET") return refuse(405, REFUSED);
    if (path in recorded.documents) return json(recorded.documents[path]);
    if (path === "/debug/requests") return stream([], false);
    return LIST.test(path) ? list(path, asked, headers.Accept || "") : refuse(404, REFUSED);
  };
  /** A stream that never opens; the console then uses a connection per watch. */
  window.WebSocket = class extends EventTarget {
    static CONNECTING = 0;
    static OPEN = 1;
    readyState = 0;

    constructor() {
      super();
      setTimeout(() => {
        this.readyState = 3;
        this.onerror?.(new Event("error"));
        this.onclose?.(new CloseEvent("close", { code: 1006 }));
      });
    }
    send() {}
    close() {}
  };
}
