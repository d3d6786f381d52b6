/** Converts findings of the server to errors of a form: one function for both phases. */
/** One error: a cause of an error response, or an entry of `status.fieldErrors`. */
export interface Finding {
    /** FieldValueInvalid, FieldValueRequired, FieldValueNotFound, … */
    type: string;
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
export type Findings = readonly Finding[] | {
    causes: readonly Finding[];
} | {
    status?: {
        fieldErrors?: readonly Finding[];
    } | undefined;
};
/** Convert findings to errors of the form; of several at one field, the first. */
export declare function toFormErrors<Field extends string>(found: Findings, fields: Fields<Field>): FormErrors<Field>;
