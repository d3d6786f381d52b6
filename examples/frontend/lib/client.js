/** A typed client for any kind, over fetch, without dependencies. */
import { refusal, StatusError } from "./answers.js";
import { sharedStream } from "./stream.js";
/**
* The objects of one kind; `path` is that of its list, `/apis/GROUP/VERSION/namespaces/NAME/PLURAL`. All clients of
* a server share one connection for their watches.
 */
export class Client {
    path;
    base;
    stream;
    constructor(server, path) {
        const root = server.replace(/\/$/, "");
        this.path = path;
        this.base = root + path;
        this.stream = sharedStream(root);
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
    * Check a create without storing anything, including checks of external systems. A name that exists
    * is a finding at `metadata.name`.
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
    /** Delete an object if it exists; one with finalizers is deleted a little later. */
    async remove(name) {
        try {
            await this.ask("DELETE", `/${name}`);
        }
        catch (error) {
            if (!isNotFound(error))
                throw error;
        }
    }
    /** Delete an object, and wait until it is gone. */
    async removed(name) {
        await this.remove(name);
        await this.gone(name);
    }
    /** Wait until no object has that name. */
    async gone(name, { interval = 100, attempts = 300 } = {}) {
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
        throw new Error(`${name} is still there`);
    }
    /** Change an object by a merge patch. */
    patch(name, change) {
        return this.ask("PATCH", `/${name}`, change, "application/merge-patch+json");
    }
    /** Read a subresource that is not an object, `NAME/resources`. */
    read(name, subresource) {
        return this.ask("GET", `/${name}/${subresource}`);
    }
    /** Create something in a subresource, `NAME/jobs`. */
    post(name, subresource, body) {
        return this.ask("POST", `/${name}/${subresource}`, body);
    }
    /** The existing objects, then every change, until the caller stops iterating. */
    async *follow() {
        const { items, metadata } = await this.ask("GET", "");
        for (const object of items)
            yield { type: "ADDED", object };
        yield* this.changes(new URLSearchParams({ resourceVersion: metadata.resourceVersion ?? "" }));
    }
    /** Every change of one object after a resourceVersion, until the caller stops iterating. */
    watch(name, resourceVersion) {
        return this.changes(new URLSearchParams({ resourceVersion, fieldSelector: `metadata.name=${name}` }));
    }
    /**
    * The current state of one object, then every change; a bookmark if it does not exist. It ends when the
    * server ends it or the signal aborts.
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
    changes(query, signal) {
        return this.stream.watch(`${this.path}?${query}`, signal);
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
