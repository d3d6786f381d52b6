/** A typed client for any kind, over fetch, without dependencies. */
/** What the server refused: its Status. */
export class StatusError extends Error {
    code;
    reason;
    causes;
    constructor(code, body) {
        super(body.message ?? `HTTP ${code}`);
        this.code = code;
        this.reason = body.reason ?? "";
        this.causes = body.details?.causes ?? [];
    }
}
/** The objects of one kind; `path` is its list, `/apis/GROUP/VERSION/namespaces/NAME/PLURAL`. */
export class Client {
    base;
    constructor(server, path) {
        this.base = server.replace(/\/$/, "") + path;
    }
    get(name) {
        return this.ask("GET", `/${name}`);
    }
    async list() {
        return (await this.ask("GET", "")).items;
    }
    create(object) {
        return this.ask("POST", "", object);
    }
    /**
     * Everything the server would check of a create, outside systems included; nothing is stored. A name that is
     * taken is a finding at `metadata.name`.
     */
    async validate(object) {
        try {
            await this.ask("POST", "?dryRun=All", object);
            return [];
        }
        catch (error) {
            const isFinding = error instanceof StatusError && (error.code === 422 || error.reason === "AlreadyExists");
            if (isFinding)
                return error.causes;
            throw error;
        }
    }
    /** Delete an object, if it is there; one with finalizers goes a little later. */
    async remove(name) {
        try {
            await this.ask("DELETE", `/${name}`);
        }
        catch (error) {
            if (!isNotFound(error))
                throw error;
        }
    }
    /** Delete an object and wait until it is gone. */
    async removed(name, { interval = 100, attempts = 300 } = {}) {
        await this.remove(name);
        for (let attempt = 0; attempt < attempts; attempt++) {
            try {
                await this.get(name);
            }
            catch (error) {
                if (isNotFound(error))
                    return;
                throw error;
            }
            await new Promise((resolve) => setTimeout(resolve, interval));
        }
        throw new Error(`${name} was not removed in time`);
    }
    /** Merge a change into an object. */
    patch(name, change) {
        return this.ask("PATCH", `/${name}`, change, "application/merge-patch+json");
    }
    /** Read what answers under an object's name and is no object, `NAME/resources`. */
    read(name, subresource) {
        return this.ask("GET", `/${name}/${subresource}`);
    }
    /** Ask for something there, `NAME/jobs`. */
    post(name, subresource, body) {
        return this.ask("POST", `/${name}/${subresource}`, body);
    }
    /** The objects there are, then every change of them, until the caller stops listening. */
    async *follow() {
        const { items, metadata } = await this.ask("GET", "");
        for (const object of items)
            yield { type: "ADDED", object };
        yield* this.changes(new URLSearchParams({ resourceVersion: metadata.resourceVersion ?? "" }));
    }
    /** Every change of one object after a resourceVersion, until the caller stops listening. */
    watch(name, resourceVersion) {
        return this.changes(new URLSearchParams({ resourceVersion, fieldSelector: `metadata.name=${name}` }));
    }
    /**
     * One object as it is, then every change of it; one that is not there is told as a bookmark. It ends when the
     * server ends it, or the signal.
     */
    async *followOne(name, signal) {
        const fieldSelector = `metadata.name=${name}`;
        const { items, metadata } = await this.ask("GET", `?${new URLSearchParams({ fieldSelector })}`);
        for (const object of items)
            yield { type: "ADDED", object };
        if (items.length === 0)
            yield { type: "BOOKMARK", object: { metadata } };
        const { resourceVersion = "" } = metadata;
        yield* this.changes(new URLSearchParams({ resourceVersion, fieldSelector }), signal);
    }
    async *changes(query, signal) {
        query.set("watch", "true");
        const stop = new AbortController();
        signal?.addEventListener("abort", () => stop.abort(), { once: true });
        try {
            const answer = await fetch(`${this.base}?${query}`, { signal: stop.signal });
            if (!answer.ok || answer.body === null)
                throw await refusal(answer);
            for await (const line of lines(answer.body))
                yield JSON.parse(line);
        }
        finally {
            stop.abort();
        }
    }
    async ask(method, path, body, type = "application/json") {
        const answer = await fetch(this.base + path, {
            method,
            headers: { Accept: "application/json", ...(body && { "Content-Type": type }) },
            ...(body && { body: JSON.stringify(body) }),
        });
        if (!answer.ok)
            throw await refusal(answer);
        return (await answer.json());
    }
}
const isNotFound = (error) => error instanceof StatusError && error.code === 404;
async function refusal(answer) {
    return new StatusError(answer.status, await answer.json().catch(() => ({})));
}
async function* lines(stream) {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
        const { done, value } = await reader.read();
        if (done)
            return;
        const parts = (rest + value).split("\n");
        rest = parts.pop() ?? "";
        yield* parts.filter((part) => part !== "");
    }
}
