/** Converts findings of the server to errors of a form: one function for both phases. */
/** Convert findings to errors of the form; of several at one field, the first. */
export function toFormErrors(found, fields) {
    const errors = { fields: {}, form: [], supported: {} };
    for (const { type, field = "", detail, supportedValues } of findingsOf(found)) {
        const text = detail || type;
        const place = placeOf(field, fields);
        if (place === undefined)
            errors.form.push(field === "" ? text : `${field}: ${text}`);
        else {
            errors.fields[place] ??= text;
            if (supportedValues)
                errors.supported[place] ??= supportedValues;
        }
    }
    return errors;
}
function findingsOf(found) {
    if ("causes" in found)
        return found.causes;
    if ("length" in found)
        return found;
    return found.status?.fieldErrors ?? [];
}
/** The form's field for a path, or for the path that contains it: `spec.workflows[0]`. */
function placeOf(path, fields) {
    for (let part = path; part !== ""; part = part.replace(/(\.[^.[\]]*|\[[^\]]*\]|^[^.[\]]+)$/, "")) {
        if (Object.hasOwn(fields, part))
            return fields[part];
    }
    return undefined;
}
