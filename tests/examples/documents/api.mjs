// What the documents call `api`: requests below the group's version, as a front end has them.
const base = process.argv[2];
const prefix = "/apis/provisioning.grafana.app/v0alpha1";
/** What a request is refused with. */
export class ApiError extends Error {
    status;
    body;
    constructor(status, body) {
        super(body.message ?? `HTTP ${status}`);
        this.status = status;
        this.body = body;
    }
}
async function ask(method, path, body) {
    const answer = await fetch(base + prefix + path, {
        method,
        headers: { "Content-Type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const value = text.startsWith("{") ? JSON.parse(text) : { message: text };
    if (!answer.ok)
        throw new ApiError(answer.status, value);
    return value;
}
const plural = (kind) => (kind === "Connection" ? "connections" : "repositories");
export const api = {
    /** Of a list its items. */
    async get(path) {
        const found = await ask("GET", path);
        return (found.items ?? found);
    },
    post: (path, body) => ask("POST", path, body),
    getResource: (name, kind = "Repository") => ask("GET", `/${plural(kind)}/${name}`),
    createResource: (draft, options = {}) => ask("POST", `/${plural(draft.kind)}${options.dryRun ? "?dryRun=true" : ""}`, draft),
    /** Events of one object, from its state on. */
    watchResource(name) {
        const stop = new AbortController();
        const query = new URLSearchParams({ watch: "true", fieldSelector: `metadata.name=${name}` });
        const watch = {
            on(event, tell) {
                void follow(`${base}${prefix}/namespaces/default/repositories?${query}`, stop, tell);
                return event;
            },
            close: () => stop.abort(),
        };
        return watch;
    },
};
async function follow(url, stop, tell) {
    try {
        const response = await fetch(url, { signal: stop.signal });
        if (response.body === null)
            throw new Error("the watch has no body");
        let rest = "";
        const chunks = response.body.pipeThrough(new TextDecoderStream());
        for await (const chunk of chunks) {
            const lines = (rest + chunk).split("\n");
            rest = lines.pop() ?? "";
            for (const line of lines)
                tell(JSON.parse(line).object);
        }
    }
    catch (error) {
        if (!stop.signal.aborted)
            throw error;
    }
}
export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
/** A form that keeps what it shows. */
export class Form {
    shown = {};
    setFieldError = (field, text) => {
        this.shown[field] = text;
    };
}
export const mapFieldPathToFormField = (path) => path.split(".").pop() ?? path;
