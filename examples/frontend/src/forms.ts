/** From what the server finds to what a form shows: one function for both phases. */

/** One thing wrong: a cause of a refused request, or an entry of `status.fieldErrors`. */
export interface Finding {
  /** FieldValueInvalid, FieldValueRequired, FieldValueNotFound, … */
  type: string;
  /** The path of the field that has to change; a finding may belong to none. */
  field?: string;
  /** What is wrong, for people. */
  detail?: string;
  /** The check or rule that found it. */
  origin?: string;
  /** The value that was refused; never a secret. */
  badValue?: unknown;
  /** Values that would be right. */
  supportedValues?: string[];
}

/** What is shown: beside fields, and on top of the form for what belongs to none. */
export interface FormErrors<Field extends string = string> {
  fields: Partial<Record<Field, string>>;
  form: string[];
  /** What a field may offer instead. */
  supported: Partial<Record<Field, string[]>>;
}

/** Where paths of the server are on a form: `{"spec.git.branch": "branch"}`. */
export type Fields<Field extends string = string> = Readonly<Record<string, Field>>;

/** A refusal (StatusError), an object with its status, or findings as they are. */
export type Findings =
  | readonly Finding[]
  | { causes: readonly Finding[] }
  | { status?: { fieldErrors?: readonly Finding[] } | undefined };

/** Findings as the form shows them; of several at one field the first. */
export function toFormErrors<Field extends string>(found: Findings, fields: Fields<Field>): FormErrors<Field> {
  const errors: FormErrors<Field> = { fields: {}, form: [], supported: {} };
  for (const { type, field = "", detail, supportedValues } of findingsOf(found)) {
    const text = detail || type;
    const place = placeOf(field, fields);
    if (place === undefined) errors.form.push(field === "" ? text : `${field}: ${text}`);
    else {
      errors.fields[place] ??= text;
      if (supportedValues) errors.supported[place] ??= supportedValues;
    }
  }
  return errors;
}

function findingsOf(found: Findings): readonly Finding[] {
  if ("causes" in found) return found.causes;
  if ("length" in found) return found;
  return found.status?.fieldErrors ?? [];
}

/** The field of the form for a path, or for what the path is a part of: `spec.workflows[0]`. */
function placeOf<Field extends string>(path: string, fields: Fields<Field>): Field | undefined {
  for (let part = path; part !== ""; part = part.replace(/(\.[^.[\]]*|\[[^\]]*\]|^[^.[\]]+)$/, "")) {
    if (Object.hasOwn(fields, part)) return fields[part];
  }
  return undefined;
}
