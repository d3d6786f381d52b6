// Problems of fields: `status.fieldErrors`, the causes of a 422, the conflicts of an apply.
// Each problem is `{path, field, detail, type}`, and is shown at its field.
import { html } from "./html.js";
import { format, keyOf, parsePath, resolve } from "./paths.js";

/** Whether it is not a field: `<nil>` is the field of rules that were not checked. */
const pathOf = (field) => (field.startsWith("<") ? [] : parsePath(field));

/** The problems that live checks found. */
export function ofStatus(object) {
  return (object.status?.fieldErrors || []).map(({ field = "", detail = "", type }) => ({
    path: pathOf(field), field, detail, type,
  }));
}

/** The problems in an error response. */
export function ofRefusal(error) {
  if (!error.causes.length) return [{ path: [], field: "", detail: error.message, type: error.reason }];
  return error.causes.map(({ field = "", message = "", reason }) => ({
    path: pathOf(field), field: field.replace(/^\./, ""), detail: message, type: reason,
  }));
}

/** Problems by the key of the field where they are shown: their own, or the nearest existing one. */
export function byField(problems, object) {
  const found = new Map();
  for (const problem of problems) {
    const key = keyOf(resolve(object, problem.path));
    found.set(key, [...(found.get(key) || []), problem]);
  }
  return found;
}

/** A list of problems; `choose(problem)` goes to its field. */
export function Problems({ problems, choose, title }) {
  if (!problems.length) return null;
  return html`
    <section class="notice bad problems" aria-label=${title}>
      <ul>${problems.map((problem) => html`
        <li key=${problem.field + problem.detail}>
          ${problem.path.length > 0 && html`<button class="plain mono bad" onClick=${() => choose?.(problem)}>${problem.field || format(problem.path)}</button>`}
          <span>${problem.detail}</span>${problem.action}</li>`)}
      </ul>
    </section>`;
}
