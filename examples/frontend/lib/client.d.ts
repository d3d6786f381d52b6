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
* The objects of one kind; `path` is that of its list, `/apis/GROUP/VERSION/namespaces/NAME/PLURAL`. All clients of
* a server share one connection for their watches.
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
    * Check a create without storing anything, including checks of external systems. A name that exists
    * is a finding at `metadata.name`.
     */
    validate(object: T): Promise<Cause[]>;
    /** Delete an object if it exists; one with finalizers is deleted a little later. */
    remove(name: string): Promise<void>;
    /** Delete an object, and wait until it is gone. */
    removed(name: string): Promise<void>;
    /** Wait until no object has that name. */
    gone(name: string, { interval, attempts }?: {
        interval?: number | undefined;
        attempts?: number | undefined;
    }): Promise<void>;
    /** Change an object by a merge patch. */
    patch(name: string, change: object): Promise<T>;
    /** Read a subresource that is not an object, `NAME/resources`. */
    read<R>(name: string, subresource: string): Promise<R>;
    /** Create something in a subresource, `NAME/jobs`. */
    post<R>(name: string, subresource: string, body: object): Promise<R>;
    /** The existing objects, then every change, until the caller stops iterating. */
    follow(): AsyncGenerator<WatchEvent<T>>;
    /** Every change of one object after a resourceVersion, until the caller stops iterating. */
    watch(name: string, resourceVersion: string): AsyncGenerator<WatchEvent<T>>;
    /**
    * The current state of one object, then every change; a bookmark if it does not exist. It ends when the
    * server ends it or the signal aborts.
     */
    followOne(name: string, signal?: AbortSignal): AsyncGenerator<WatchEvent<T>>;
    private changes;
    private ask;
}
