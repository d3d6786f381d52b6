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
import { toFormErrors, type Fields, type Finding, type FormErrors } from "./forms.js";

/** An object with a controller. */
export type Checked = Resource<unknown, { observedGeneration?: number; fieldErrors?: Finding[] }>;

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

export function resourceHooks<T extends Checked, Field extends string>(
  client: Client<T>,
  fields: Fields<Field>,
  delays: Delays = { first: 250, longest: 10_000 },
): ResourceHooks<T, Field> {
  const known = new Map<string, Followed<T, Field>>();
  const useResource = (name: string): Followed<T, Field> => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const made = new Following(client, name, fields, delays, () => known.delete(name));
    known.set(name, made);
    return made;
  };
  return { useResource };
}

/** Whether the controller has processed the newest spec. */
export function isReconciled(object: Checked): boolean {
  return object.status?.observedGeneration === object.metadata.generation;
}

class Following<T extends Checked, Field extends string> implements Followed<T, Field> {
  private readonly listeners = new Set<() => void>();
  private state: ResourceState<T, Field>;
  private stop: AbortController | undefined;
  private readonly client: Client<T>;
  private readonly name: string;
  private readonly fields: Fields<Field>;
  private readonly delays: Delays;
  private readonly forget: () => void;

  constructor(client: Client<T>, name: string, fields: Fields<Field>, delays: Delays, forget: () => void) {
    this.client = client;
    this.name = name;
    this.fields = fields;
    this.delays = delays;
    this.forget = forget;
    const errors = toFormErrors([], fields);
    this.state = { object: undefined, isKnown: false, errors, isBehind: false, retries: 0, problem: undefined };
  }

  readonly get = (): ResourceState<T, Field> => this.state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    if (this.stop === undefined) {
      this.stop = new AbortController();
      void this.follow(this.stop.signal);
    }
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      this.stop?.abort();
      this.stop = undefined;
      this.forget();
    };
  };

  private async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const { type, object } of this.client.followOne(this.name, signal)) {
          if (type === "ERROR") break;
          if (type !== "BOOKMARK") this.learn(type === "DELETED" ? undefined : object);
          else if (!this.state.isKnown || this.state.retries > 0) this.learn(this.state.object);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.change({ retries: this.state.retries + 1, problem: error instanceof Error ? error.message : String(error) });
        await pause(this.delay(), signal);
      }
    }
  }

  private delay(): number {
    return Math.min(this.delays.longest, this.delays.first * 2 ** (this.state.retries - 1));
  }

  private learn(object: T | undefined): void {
    const errors = toFormErrors(object ?? [], this.fields);
    const isBehind = object !== undefined && !isReconciled(object);
    this.change({ object, isKnown: true, errors, isBehind, retries: 0, problem: undefined });
  }

  private change(news: Partial<ResourceState<T, Field>>): void {
    this.state = { ...this.state, ...news };
    for (const listener of this.listeners) listener();
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
