/** A typed client for any kind, over fetch, without dependencies. */

import { refusal, StatusError, type Cause } from "./answers.js";
import { sharedStream, type WatchStream } from "./stream.js";

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
export class Client<T extends Resource<unknown, unknown>> {
  private readonly path: string;
  private readonly base: string;
  private readonly stream: WatchStream;

  constructor(server: string, path: string) {
    const root = server.replace(/\/$/, "");
    this.path = path;
    this.base = root + path;
    this.stream = sharedStream(root);
  }

  get(name: string): Promise<T> {
    return this.ask("GET", `/${name}`);
  }

  async list(): Promise<T[]> {
    return (await this.ask<{ items: T[] }>("GET", "")).items;
  }

  create(object: T): Promise<T> {
    return this.ask("POST", "", object);
  }

  /**
  * Check a create without storing anything, including checks of external systems. A name that exists
  * is a finding at `metadata.name`.
   */
  async validate(object: T): Promise<Cause[]> {
    try {
      await this.ask("POST", "?dryRun=All", object);
      return [];
    } catch (error) {
      const isFinding = error instanceof StatusError && (error.code === 422 || error.reason === "AlreadyExists");
      if (isFinding) return error.causes.length > 0 ? error.causes : [{ reason: error.reason, message: error.message }];
      throw error;
    }
  }

  /** Delete an object if it exists; one with finalizers is deleted a little later. */
  async remove(name: string): Promise<void> {
    try {
      await this.ask("DELETE", `/${name}`);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Delete an object, and wait until it is gone. */
  async removed(name: string): Promise<void> {
    await this.remove(name);
    await this.gone(name);
  }

  /** Wait until no object has that name. */
  async gone(name: string, { interval = 100, attempts = 300 } = {}): Promise<void> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      try {
        await this.get(name);
      } catch (error) {
        if (isNotFound(error)) return;
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, interval));
    }
    throw new Error(`${name} is still there`);
  }

  /** Change an object by a merge patch. */
  patch(name: string, change: object): Promise<T> {
    return this.ask("PATCH", `/${name}`, change, "application/merge-patch+json");
  }

  /** Read a subresource that is not an object, `NAME/resources`. */
  read<R>(name: string, subresource: string): Promise<R> {
    return this.ask<R>("GET", `/${name}/${subresource}`);
  }

  /** Create something in a subresource, `NAME/jobs`. */
  post<R>(name: string, subresource: string, body: object): Promise<R> {
    return this.ask<R>("POST", `/${name}/${subresource}`, body);
  }

  /** The existing objects, then every change, until the caller stops iterating. */
  async *follow(): AsyncGenerator<WatchEvent<T>> {
    const { items, metadata } = await this.ask<{ items: T[]; metadata: Meta }>("GET", "");
    for (const object of items) yield { type: "ADDED", object };
    yield* this.changes(new URLSearchParams({ resourceVersion: metadata.resourceVersion ?? "" }));
  }

  /** Every change of one object after a resourceVersion, until the caller stops iterating. */
  watch(name: string, resourceVersion: string): AsyncGenerator<WatchEvent<T>> {
    return this.changes(new URLSearchParams({ resourceVersion, fieldSelector: `metadata.name=${name}` }));
  }

  /**
  * The current state of one object, then every change; a bookmark if it does not exist. It ends when the
  * server ends it or the signal aborts.
   */
  async *followOne(name: string, signal?: AbortSignal): AsyncGenerator<WatchEvent<T>> {
    const fieldSelector = `metadata.name=${name}`;
    const { items, metadata } = await this.ask<{ items: T[]; metadata: Meta }>(
      "GET",
      `?${new URLSearchParams({ fieldSelector })}`,
    );
    for (const object of items) yield { type: "ADDED", object };
    if (items.length === 0) yield { type: "BOOKMARK", object: { metadata } as T };
    const { resourceVersion = "" } = metadata;
    yield* this.changes(new URLSearchParams({ resourceVersion, fieldSelector }), signal);
  }

  private changes(query: URLSearchParams, signal?: AbortSignal): AsyncGenerator<WatchEvent<T>> {
    return this.stream.watch(`${this.path}?${query}`, signal);
  }

  private async ask<R = T>(method: string, path: string, body?: object, type = "application/json"): Promise<R> {
    const answer = await fetch(this.base + path, {
      method,
      headers: { Accept: "application/json", ...(body && { "Content-Type": type }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw await refusal(answer);
    return (await answer.json()) as R;
  }
}

const isNotFound = (error: unknown) => error instanceof StatusError && error.code === 404;
