/** A typed client for any kind, over fetch, without dependencies. */
import { type Cause } from "./answers.js";
export interface Meta {
    name: string;
    uid?: string;
    labels?: Record<string, string>;
    namespace?: string;
    generation?: number;
    resourceVersion?: string;
}
/** Any object of the API; `Spec` and `Status` are the kind's own. */
export interface Resource<Spec, Status> {
    apiVersion: string;
    kind: string;
    metadata: Meta;
    spec: Spec;
    status?: Status;
}
/** One event of a watch; an ERROR holds a Status. */
export interface WatchEvent<T> {
    type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
    object: T;
}
/**
 * The objects of one kind; `path` is its list, `/apis/GROUP/VERSION/namespaces/NAME/PLURAL`. Watches of all clients of
 * a server share one connection.
 */
export declare class Client<T extends Resource<unknown, unknown>> {
    private readonly path;
    private readonly base;
    private readonly stream;
    constructor(server: string, path: string);
    get(name: string): Promise<T>;
    list(): Promise<T[]>;
    create(object: T): Promise<T>;
    /**
     * Everything the server would check of a create, outside systems included; nothing is stored. A name that is
     * taken is a finding at `metadata.name`.
     */
    validate(object: T): Promise<Cause[]>;
    /** Delete an object, if it is there; one with finalizers goes a little later. */
    remove(name: string): Promise<void>;
    /** Delete an object and wait until it is gone. */
    removed(name: string): Promise<void>;
    /** Wait until there is no object of that name. */
    gone(name: string, { interval, attempts }?: {
        interval?: number | undefined;
        attempts?: number | undefined;
    }): Promise<void>;
    /** Merge a change into an object. */
    patch(name: string, change: object): Promise<T>;
    /** Read what answers under an object's name and is no object, `NAME/resources`. */
    read<R>(name: string, subresource: string): Promise<R>;
    /** Ask for something there, `NAME/jobs`. */
    post<R>(name: string, subresource: string, body: object): Promise<R>;
    /** The objects there are, then every change of them, until the caller stops listening. */
    follow(): AsyncGenerator<WatchEvent<T>>;
    /** Every change of one object after a resourceVersion, until the caller stops listening. */
    watch(name: string, resourceVersion: string): AsyncGenerator<WatchEvent<T>>;
    /**
     * One object as it is, then every change of it; one that is not there is told as a bookmark. It ends when the
     * server ends it, or the signal.
     */
    followOne(name: string, signal?: AbortSignal): AsyncGenerator<WatchEvent<T>>;
    private changes;
    private ask;
}
