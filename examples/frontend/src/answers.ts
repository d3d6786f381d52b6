/** Responses of a server: error responses as exceptions, streams as lines. */

import type { Finding } from "./forms.js";

/** A cause of an error response: a finding with the fields of Kubernetes. */
export type Cause = Finding;

/** The members of a Status that describe an error. */
export interface Status {
  status?: string;
  code?: number;
  message?: string;
  reason?: string;
  details?: { causes?: Cause[] };
}

/** An error response: its Status. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly causes: Cause[];

  constructor(code: number, body: Status) {
    super(body.message ?? `HTTP ${code}`);
    this.code = code;
    this.reason = body.reason ?? "";
    this.causes = body.details?.causes ?? [];
  }
}

/** The error of a response. */
export async function refusal(answer: Response): Promise<StatusError> {
  return new StatusError(answer.status, await answer.json().catch(() => ({})));
}

/** The lines of a body that are not empty, as they arrive. */
export async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    yield* parts.filter((part) => part !== "");
  }
}
