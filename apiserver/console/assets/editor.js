// The text editor of an object. At each pause of typing, a dry run returns the errors of both phases
// of validation, and the object as it would be stored.
import { Diff } from "./diff.js";
import { inMode, isStrict, merge, newText, readRefusal, removeField, sendDraft, textToEdit } from "./drafts.js";
import { html, useEffect, useMemo, useState } from "./html.js";
import { useKeys } from "./keys.js";
import { tell } from "./notices.js";
import { withoutVersion } from "./objects.js";
import { format, resolve } from "./paths.js";
import { Problems } from "./problems.js";
import { useSchema } from "./schema.js";
import { dump, findLines, load, nearest } from "./yaml.js";
import { Painted } from "./yamlview.js";

const PAUSE = 300; // milliseconds without a key before the dry run

/** Edit `object`, or a new object without it. `done(stored)` is called after saving. */
export function Editor({ kind, object, rights = {}, namespace, done }) {
  const schema = useSchema(kind);
  const [mode, setMode] = useState(object ? "update" : "create");
  const [text, setText] = useState(() => (object ? textToEdit(object, kind, mode) : ""));
  const [verdict, setVerdict] = useState({ state: "" });
  const [saving, setSaving] = useState(false);
  const [original, setOriginal] = useState(text);
  const version = object?.metadata.resourceVersion;

  useEffect(() => {
    if (object || schema === undefined || text !== "") return;
    const greeting = newText(kind, schema, namespace);
    setOriginal(greeting);
    setText(greeting);
  }, [schema]);
  useEffect(() => {
    if (!text || (text === original && mode !== "apply")) {
      setVerdict({ state: "" });
      return undefined;
    }
    const control = new AbortController();
    setVerdict((before) => ({ ...before, state: "checking" }));
    const timer = setTimeout(() => check(control.signal), PAUSE);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text, mode, version]); // a newer version makes a draft stale

  async function check(signal) {
    try {
      const { object: after, warnings } = await sendDraft(kind, text, mode, { dryRun: true, signal });
      setVerdict({ state: "valid", after, warnings });
    } catch (error) {
      if (signal.aborted) return;
      refuse(error);
      if (isStrict(error)) await checkRest(error, signal);
    }
  }

  /** Find other errors besides unknown fields, because a strict server checks nothing else then. */
  async function checkRest(strict, signal) {
    try {
      await sendDraft(kind, text, mode, { dryRun: true, lenient: true, signal });
    } catch (error) {
      if (signal.aborted || !error.code) return;
      const { problems } = readRefusal(strict);
      const rest = readRefusal(error);
      setVerdict({ state: "refused", ...rest, problems: [...problems, ...rest.problems] });
    }
  }

  function refuse(error) {
    if (error.line !== undefined) setVerdict({ state: "unreadable", line: error.line, message: error.message });
    else if (error.code) setVerdict({ state: "refused", ...readRefusal(error) });
    else setVerdict({ state: "failed", message: error.message });
  }

  async function save(force = false) {
    setSaving(true);
    try {
      const { object: stored } = await sendDraft(kind, text, mode, { force });
      tell(`${kind.kind} ${stored.metadata.name} is stored`);
      done(stored);
    } catch (error) {
      refuse(error);
    } finally {
      setSaving(false);
    }
  }

  const turn = (next) => {
    setMode(next);
    setText(inMode(text, next, object.metadata.resourceVersion));
  };
  const rebase = () => {
    const theirs = textToEdit(object, kind, mode);
    setText(merge(original, text, theirs));
    setOriginal(theirs);
  };
  const reload = () => {
    setOriginal(textToEdit(object, kind, mode));
    setText(textToEdit(object, kind, mode));
  };
  const verb = { update: "update", apply: "patch" }[mode];
  const refused = rights[verb] && !rights[verb].allowed ? rights[verb].reason : "";
  useKeys({ "Ctrl+Enter": [() => save(), "Store what is edited"], "Ctrl+s": [() => save(), ""] });

  return html`
    <div class="bar">
      ${object && html`
        <div class="segments" role="group" aria-label="How it is stored">
          <button aria-pressed=${String(mode === "update")} onClick=${() => turn("update")}>Update</button>
          <button aria-pressed=${String(mode === "apply")} onClick=${() => turn("apply")}>Apply</button>
        </div>`}
      <span class="grow"></span>
      <${Verdict} verdict=${verdict} />
      <button class="primary" disabled=${saving || Boolean(refused)} title=${refused || "Ctrl+Enter"} onClick=${() => save()}>
        ${mode === "create" ? "Create" : mode === "apply" ? "Apply" : "Save"}</button>
    </div>
    ${refused && html`<p class="notice warn">${refused}</p>`}
    ${verdict.outdated && html`
      <div class="notice warn" role="alert">
        <p>Another client changed the object. The draft is stale.</p>
        <p class="bar"><button onClick=${reload}>Take theirs</button><button onClick=${rebase}>Keep mine on top of theirs</button></p>
      </div>`}
    <${Answer} verdict=${verdict} text=${text} setText=${setText} takeOver=${() => save(true)} />
    <${Paper} text=${text} setText=${setText} verdict=${verdict} schema=${schema} />
    ${verdict.state === "valid" && object && html`
      <h2>What would change</h2>
      <${Diff} before=${comparable(object)} after=${comparable(verdict.after)} label="What would change" />`}`;
}

const comparable = (object) => dump(withoutVersion(object)).trimEnd();

function Verdict({ verdict }) {
  const count = verdict.problems?.length;
  const words = {
    "": ["", ""],
    checking: ["", "checking…"],
    valid: ["good", "the server would take it"],
    refused: ["bad", count === 1 ? "1 problem" : `${count} problems`],
    unreadable: ["bad", "no YAML"],
    failed: ["bad", verdict.message],
  };
  const [sort, text] = words[verdict.state];
  return html`<span class=${text ? `chip ${sort}` : "hidden"} role="status" data-verdict=${verdict.state}>${text}</span>`;
}

function Answer({ verdict, text, setText, takeOver }) {
  const { state, problems = [], warnings = [], conflicts } = verdict;
  if (state === "unreadable") return html`<p class="notice bad">Line ${verdict.line + 1}: ${verdict.message}</p>`;
  const leave = (problem) => {
    const manager = /"([^"]*)"/.exec(problem.detail)?.[1] || "them";
    const onClick = () => setText(removeField(text, resolve(load(text), problem.path)));
    return html`<button onClick=${onClick}>Leave it to ${manager}</button>`;
  };
  const shown = conflicts ? problems.map((each) => ({ ...each, action: leave(each) })) : problems;
  return html`
    ${state === "refused" && !verdict.outdated && html`<${Problems} problems=${shown} title="What the server refuses" choose=${goTo} />`}
    ${conflicts && html`<p class="bar"><button onClick=${takeOver}>Take these fields over</button>
      <span class="quiet">or leave each to who owns it</span></p>`}
    ${warnings.map((each) => html`<p class="notice warn" key=${each}>${each}</p>`)}`;

  function goTo(problem) {
    const { first } = nearest(findLines(text), resolve(load(text), problem.path));
    const area = document.getElementById("draft");
    const at = text.split("\n").slice(0, first).join("\n").length + (first ? 1 : 0);
    area.focus();
    area.setSelectionRange(at, at);
    area.closest(".paper").scrollTop = first * 20 - 60;
  }
}

/** The text over a highlighted copy; problems are at the end of their field's line. */
function Paper({ text, setText, verdict, schema }) {
  const [caret, setCaret] = useState(0);
  const { lines, places, object } = useMemo(() => {
    const split = text.split("\n");
    try {
      return { lines: split, places: findLines(text), object: load(text) };
    } catch {
      return { lines: split, places: new Map(), object: null };
    }
  }, [text]);
  const marks = new Map();
  if (verdict.state === "unreadable") marks.set(verdict.line, [verdict.message]);
  for (const problem of (verdict.state !== "valid" && verdict.problems) || []) {
    if (!problem.path.length) continue;
    const { first } = nearest(places, resolve(object || {}, problem.path));
    marks.set(first, [...(marks.get(first) || []), `${missing(problem, object)}${problem.detail}`]);
  }
  const onCaret = (event) => setCaret(event.target.value.slice(0, event.target.selectionStart).split("\n").length - 1);
  return html`
    <div class="paper">
      <div class="sheet-of">
        <div class="back" aria-hidden="true">${lines.map((line, at) => html`
          <div key=${at} class="line ${marks.has(at) ? "marked" : ""}" data-line=${at + 1}>
            <span class="at">${at + 1}</span><span><${Painted} line=${line} /></span>
            ${marks.has(at) && html`<span class="error-text">✗ ${marks.get(at).join(" · ")}</span>`}
          </div>`)}
        </div>
        <textarea id="draft" aria-label="Draft" spellcheck=${false} autocomplete="off" autocapitalize="off" value=${text}
          aria-invalid=${marks.size ? "true" : "false"} onInput=${(event) => setText(event.target.value)}
          onKeyUp=${onCaret} onClick=${onCaret} onFocus=${onCaret}></textarea>
      </div>
    </div>
    <${About} places=${places} line=${caret} schema=${schema} />`;
}

/** The part of a problem's path that the text lacks. */
function missing(problem, object) {
  const there = resolve(object || {}, problem.path);
  return there.length < problem.path.length && problem.path.every((each) => typeof each !== "object")
    ? `${format(problem.path.slice(there.length))}: ` : "";
}

/** The schema's description of the field at the caret. */
function About({ places, line, schema }) {
  if (!schema) return null;
  let path = [];
  for (const place of places.values()) if (place.first <= line && line <= place.last) path = place.path;
  let node = schema;
  for (const step of path) node = node?.below(step);
  return html`<p class="quiet small about-field">${path.length > 0 && node
    ? html`<code>${format(path)}</code> ${node.type}${node.notes.map((each) => ` · ${each}`)} ${node.description}`
    : "Descriptions of fields are shown here."}</p>`;
}
