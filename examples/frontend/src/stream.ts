/**
* Many watches over one connection. A browser opens six connections to a server, so the seventh watch with its own
* connection would wait. Here all watches of a page share one:
 *
 *   const stream = new WatchStream("http://127.0.0.1:8001");
 *   for await (const { type, object } of stream.watch("/api/v1/pods?resourceVersion=0")) …
 *
* It is opened with the first watch and closed with the last. With a server without shared streams, such as a
* cluster's, each watch has its own connection.
 */

import { lines, refusal, StatusError, type Status } from "./answers.js";

const SHARED = "/inkube/v1/watch";
const UNKNOWN = new Set([403, 404, 406]);

/** A message of the server on the stream. */
interface Message {
  stream?: string;
  watch?: string;
  opened?: { warnings: string[] };
  event?: unknown;
  closed?: Status;
}

/** One connection. */
class Connection {
  readonly watches = new Map<string, Waiting>();
  /** Resolves to its name, or to undefined if the server has no shared streams. */
  readonly name: Promise<string | undefined>;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  private readonly stop = new AbortController();
  private named!: (name: string | undefined) => void;
  private failed!: (error: unknown) => void;

  constructor(address: string) {
    this.name = new Promise((resolve, reject) => {
      this.named = resolve;
      this.failed = reject;
    });
    this.name.catch(() => {}); // callers that await it handle the error
    this.ended = this.read(address);
  }

  close(): void {
    this.stop.abort();
  }

  private async read(address: string): Promise<void> {
    let error: unknown = new Error("the connection to the server was lost");
    try {
      const answer = await fetch(address, { headers: { Accept: "text/event-stream" }, signal: this.stop.signal });
      if (UNKNOWN.has(answer.status)) return this.named(undefined);
      if (!answer.ok || answer.body === null) throw await refusal(answer);
      for await (const line of lines(answer.body)) {
        if (line.startsWith("data: ")) this.take(JSON.parse(line.slice("data: ".length)) as Message);
      }
    } catch (reason) {
      error = reason;
    } finally {
      this.failed(error);
      for (const watch of this.watches.values()) watch.fail(error);
    }
  }

  private take(message: Message): void {
    if (message.stream !== undefined) this.named(message.stream);
    const watch = message.watch === undefined ? undefined : this.watches.get(message.watch);
    if (message.event !== undefined) watch?.tell(message.event);
    if (message.closed !== undefined) watch?.end(message.closed);
  }
}

/** The unread events of one watch. */
class Waiting {
  isOver = false;
  private readonly events: unknown[] = [];
  private error: unknown;
  private wake: () => void = () => {};

  tell(event: unknown): void {
    this.events.push(event);
    this.wake();
  }

  end({ status, code = 500, ...rest }: Status): void {
    this.isOver = true;
    if (status !== "Success") this.error = new StatusError(code, rest);
    this.wake();
  }

  fail(error: unknown): void {
    this.isOver = true;
    this.error = error;
    this.wake();
  }

  async *read(): AsyncGenerator<unknown> {
    for (;;) {
      while (this.events.length > 0) yield this.events.shift();
      if (this.error !== undefined) throw this.error;
      if (this.isOver) return;
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}

export class WatchStream {
  private readonly server: string;
  private connection: Connection | undefined;
  private count = 0;

  constructor(server: string) {
    this.server = server.replace(/\/$/, "");
  }

  /**
  * The events of a watch until the server ends it, the signal aborts it, or the caller stops iterating. `path` is that
  * of a list, with its selectors. Throws StatusError if the server refuses it.
   */
  async *watch<E>(path: string, signal?: AbortSignal): AsyncGenerator<E> {
    const connection = (this.connection ??= this.connect());
    const id = String(++this.count);
    const waiting = new Waiting();
    connection.watches.set(id, waiting);
    const abort = () => waiting.fail(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const name = await connection.name;
      if (signal?.aborted) return;
      if (name === undefined) return yield* this.alone<E>(path, signal);
      await this.send(name, { open: id, path });
      yield* waiting.read() as AsyncGenerator<E>;
    } finally {
      signal?.removeEventListener("abort", abort);
      connection.watches.delete(id);
      if (connection.watches.size === 0) this.disconnect(connection);
      else if (!waiting.isOver) await this.forget(connection, id);
    }
  }

  private connect(): Connection {
    const made = new Connection(this.server + SHARED);
    void made.ended.then(() => this.disconnect(made));
    return made;
  }

  private disconnect(connection: Connection): void {
    connection.close();
    if (this.connection === connection) this.connection = undefined;
  }

  /** Let the server close a watch. If this request fails, the watch ends with the connection. */
  private async forget(connection: Connection, id: string): Promise<void> {
    const name = await connection.name.catch(() => undefined);
    if (name !== undefined) await this.send(name, { close: id }).catch(() => {});
  }

  private async send(name: string, message: object): Promise<void> {
    const answer = await fetch(`${this.server}${SHARED}/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(message),
    });
    if (!answer.ok) throw await refusal(answer);
  }

  /** A watch with its own connection. */
  private async *alone<E>(path: string, signal?: AbortSignal): AsyncGenerator<E> {
    const stop = new AbortController();
    signal?.addEventListener("abort", () => stop.abort(), { once: true });
    try {
      const address = `${this.server}${path}${path.includes("?") ? "&" : "?"}watch=true`;
      const answer = await fetch(address, { signal: stop.signal });
      if (!answer.ok || answer.body === null) throw await refusal(answer);
      for await (const line of lines(answer.body)) yield JSON.parse(line) as E;
    } finally {
      stop.abort();
    }
  }
}

const streams = new Map<string, WatchStream>();

/** The shared stream of a server for the whole page. */
export function sharedStream(server: string): WatchStream {
  const found = streams.get(server) ?? new WatchStream(server);
  streams.set(server, found);
  return found;
}
