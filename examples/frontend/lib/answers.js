/** Responses of a server: error responses as exceptions, streams as lines. */
/** An error response: its Status. */
export class StatusError extends Error {
    code;
    reason;
    causes;
    constructor(code, body) {
        super(body.message ?? `HTTP ${code}`);
        this.code = code;
        this.reason = body.reason ?? "";
        this.causes = body.details?.causes ?? [];
    }
}
/** The error of a response. */
export async function refusal(answer) {
    return new StatusError(answer.status, await answer.json().catch(() => ({})));
}
/** The lines of a body that are not empty, as they arrive. */
export async function* lines(stream) {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
        const { done, value } = await reader.read();
        if (done)
            return;
        const parts = (rest + value).split("\n");
        rest = parts.pop() ?? "";
        yield* parts.filter((part) => part !== "");
    }
}
