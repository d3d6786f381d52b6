// What the documents call `api`: requests below the group's version, as a front end has them.
const base = process.argv[2];
const prefix = "/apis/provisioning.grafana.app/v0alpha1";

export interface Cause {
  type: string;
  field: string;
  message: string;
  detail: string;
}

export interface FieldError {
  type: string;
  field: string;
  detail: string;
}

export interface Resource {
  apiVersion?: string;
  kind?: string;
  metadata: { name: string; generation?: number; resourceVersion?: string };
  spec: Record<string, unknown>;
  status: { fieldErrors?: FieldError[]; observedGeneration?: number };
}

export type Draft = Omit<Resource, "status"> & { secure?: unknown };

/** What a request is refused with. */
export class ApiError extends Error {
  readonly status: number;
  readonly body: { message?: string; details?: { causes?: Cause[] } };

  constructor(status: number, body: ApiError["body"]) {
    super(body.message ?? `HTTP ${status}`);
    this.status = status;
    this.body = body;
  }
}

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(base + prefix + path, {
    method,
    headers: { "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const value = text.startsWith("{") ? JSON.parse(text) : { message: text };
  if (!answer.ok) throw new ApiError(answer.status, value);
  return value as T;
}

const plural = (kind: string | undefined) => (kind === "Connection" ? "connections" : "repositories");

export const api = {
  /** Of a list its items. */
  async get<T = Resource>(path: string): Promise<T> {
    const found = await ask<{ items?: T }>("GET", path);
    return (found.items ?? found) as T;
  },
  post: (path: string, body: object) => ask<Resource>("POST", path, body),
  getResource: (name: string, kind = "Repository") => ask<Resource>("GET", `/${plural(kind)}/${name}`),
  createResource: (draft: Draft, options: { dryRun?: boolean } = {}) =>
    ask<Resource>("POST", `/${plural(draft.kind)}${options.dryRun ? "?dryRun=true" : ""}`, draft),
  /** Events of one object, from its state on. */
  watchResource(name: string) {
    const stop = new AbortController();
    const query = new URLSearchParams({ watch: "true", fieldSelector: `metadata.name=${name}` });
    const watch = {
      on(event: "update", tell: (resource: Resource) => void) {
        void follow(`${base}${prefix}/namespaces/default/repositories?${query}`, stop, tell);
        return event;
      },
      close: () => stop.abort(),
    };
    return watch;
  },
};

async function follow(url: string, stop: AbortController, tell: (resource: Resource) => void): Promise<void> {
  try {
    const response = await fetch(url, { signal: stop.signal });
    if (response.body === null) throw new Error("the watch has no body");
    let rest = "";
    const chunks = response.body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>);
    for await (const chunk of chunks) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) tell((JSON.parse(line) as { object: Resource }).object);
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
}

export const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A form that keeps what it shows. */
export class Form {
  readonly shown: Record<string, string> = {};

  readonly setFieldError = (field: string, text: string): void => {
    this.shown[field] = text;
  };
}

export const mapFieldPathToFormField = (path: string): string => path.split(".").pop() ?? path;
