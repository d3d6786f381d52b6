/** Converts findings of the server to errors of a form: one function for both phases. */

/** One error: a cause of an error response, or an entry of `status.fieldErrors`. */
export interface Finding {
  /** FieldValueInvalid, FieldValueRequired, FieldValueNotFound, …; causes of other kinds have `reason` only. */
  type?: string;
  /** The type, as Kubernetes names it in causes. */
  reason?: string;
  /** The text of Kubernetes: the detail with the value before it. The only text of causes of CRDs and policies. */
  message?: string;
  /** The path of the field to change; some findings have none. */
  field?: string;
  /** The description of the error. */
  detail?: string;
  /** The check or rule that found it. */
  origin?: string;
  /** The refused value; never a secret. */
  badValue?: unknown;
  /** Valid values. */
  supportedValues?: string[];
}

/** Errors to show: next to fields, and on top of the form for those without a field. */
export interface FormErrors<Field extends string = string> {
  fields: Partial<Record<Field, string>>;
  form: string[];
  /** Valid values to suggest, by field. */
  supported: Partial<Record<Field, string[]>>;
}

/** The form's fields by path of the server: `{"spec.git.branch": "branch"}`. */
export type Fields<Field extends string = string> = Readonly<Record<string, Field>>;

/** An error response (StatusError), an object with its status, or a list of findings. */
export type Findings =
  | readonly Finding[]
  | { causes: readonly Finding[]; message?: string }
  | { status?: { fieldErrors?: readonly Finding[] } | undefined };

/**
* Convert findings to errors of the form; of several at one field, the first. Each finding is shown: one at a path
* that no field has, such as `spec`, is an error of the form. So is an error without causes, by its message.
 */
export function toFormErrors<Field extends string>(found: Findings, fields: Fields<Field>): FormErrors<Field> {
  const errors: FormErrors<Field> = { fields: {}, form: [], supported: {} };
  for (const finding of findingsOf(found)) {
    const { supportedValues } = finding;
    const field = finding.field === NOWHERE ? "" : (finding.field ?? "");
    const text = textOf(finding);
    const place = placeOf(field, fields);
    if (place === undefined) errors.form.push(field === "" ? text : `${field}: ${text}`);
    else {
      errors.fields[place] ??= text;
      if (supportedValues) errors.supported[place] ??= supportedValues;
    }
  }
  return errors;
}

/** What kube-apiserver writes as the field of a cause about the whole object. */
const NOWHERE = "<nil>";

/** The text to show for a finding. */
export function textOf({ detail, message, type, reason }: Finding): string {
  return detail || message || type || reason || "refused without a reason";
}

function findingsOf(found: Findings): readonly Finding[] {
  if ("causes" in found) return found.causes.length > 0 ? found.causes : [{ message: found.message ?? "" }];
  if ("length" in found) return found;
  return found.status?.fieldErrors ?? [];
}

/** The form's field for a path, or for the path that contains it: `spec.workflows[0]`. */
function placeOf<Field extends string>(path: string, fields: Fields<Field>): Field | undefined {
  for (let part = path; part !== ""; part = part.replace(/(\.[^.[\]]*|\[[^\]]*\]|^[^.[\]]+)$/, "")) {
    if (Object.hasOwn(fields, part)) return fields[part];
  }
  return undefined;
}
