/**
 * One object, kept current: `useResource(name)` reads it, follows it by a watch and begins again, more
 * and more slowly, where the server is away.
 *
 *   const { useResource } = resourceHooks(repositories(server, "default"), FIELDS);
 *   const repository = useResource("my-repo");
 *   const stop = repository.subscribe(() => render(repository.get()));
 *
 * It depends on no framework. In React: `useSyncExternalStore(repository.subscribe, repository.get)`.
 */
import { type Client, type Resource } from "./client.js";
import { type Fields, type Finding, type FormErrors } from "./forms.js";
/** An object that a controller looks at. */
export type Checked = Resource<unknown, {
    observedGeneration?: number;
    fieldErrors?: Finding[];
}>;
/** What is known of an object now. */
export interface ResourceState<T, Field extends string = string> {
    /** Undefined until it was read, and where there is none. */
    object: T | undefined;
    /** Whether it was read at all. */
    isKnown: boolean;
    /** What the controller found, as the form shows it. */
    errors: FormErrors<Field>;
    /** Whether the controller has not looked at the newest spec yet. */
    isBehind: boolean;
    /** How often the server was asked in vain since it last answered. */
    retries: number;
    /** What went wrong then. */
    problem: string | undefined;
}
/** An object that is followed as long as somebody subscribes. */
export interface Followed<T, Field extends string = string> {
    /** The state; the same value until something changes. */
    get(): ResourceState<T, Field>;
    /** Be told of changes; the answer ends it. */
    subscribe(listener: () => void): () => void;
}
/** Milliseconds between attempts: the first, and the longest. */
export interface Delays {
    first: number;
    longest: number;
}
export interface ResourceHooks<T, Field extends string = string> {
    /** The object of that name; asked twice, it is the same. */
    useResource(name: string): Followed<T, Field>;
}
export declare function resourceHooks<T extends Checked, Field extends string>(client: Client<T>, fields: Fields<Field>, delays?: Delays): ResourceHooks<T, Field>;
/** Whether the controller has looked at the newest spec. */
export declare function isReconciled(object: Checked): boolean;
