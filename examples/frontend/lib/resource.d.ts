/**
* One object with live updates: `useResource(name)` reads it and follows it by a watch. While the
* server is unreachable, it retries with growing delays.
 *
 *   const { useResource } = resourceHooks(repositories(server, "default"), FIELDS);
 *   const repository = useResource("my-repo");
 *   const stop = repository.subscribe(() => render(repository.get()));
 *
 * It depends on no framework. In React: `useSyncExternalStore(repository.subscribe, repository.get)`.
 */
import { type Client, type Resource } from "./client.js";
import { type Fields, type Finding, type FormErrors } from "./forms.js";
/** An object with a controller. */
export type Checked = Resource<unknown, {
    observedGeneration?: number;
    fieldErrors?: Finding[];
}>;
/** The current state of an object. */
export interface ResourceState<T, Field extends string = string> {
    /** Undefined before the first read, and if it does not exist. */
    object: T | undefined;
    /** Whether it has been read. */
    isKnown: boolean;
    /** The controller's errors in the form for display. */
    errors: FormErrors<Field>;
    /** Whether the controller has not processed the newest spec yet. */
    isBehind: boolean;
    /** The number of failed requests since the last response. */
    retries: number;
    /** The last error. */
    problem: string | undefined;
}
/** An object that is followed as long as it has subscribers. */
export interface Followed<T, Field extends string = string> {
    /** The state; the same value until something changes. */
    get(): ResourceState<T, Field>;
    /** Subscribe to changes; the returned function ends it. */
    subscribe(listener: () => void): () => void;
}
/** Milliseconds between attempts: the first and the longest delay. */
export interface Delays {
    first: number;
    longest: number;
}
export interface ResourceHooks<T, Field extends string = string> {
    /** The object with that name; the same one in each call. */
    useResource(name: string): Followed<T, Field>;
}
export declare function resourceHooks<T extends Checked, Field extends string>(client: Client<T>, fields: Fields<Field>, delays?: Delays): ResourceHooks<T, Field>;
/** Whether the controller has processed the newest spec. */
export declare function isReconciled(object: Checked): boolean;
