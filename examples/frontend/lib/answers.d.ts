/** What a server answers: refusals as errors, streams as lines. */
import type { Finding } from "./forms.js";
/** Why a request was refused: a finding, and how Kubernetes' clients read it. */
export interface Cause extends Finding {
    /** The same as `type`. */
    reason: string;
    /** The detail with the value before it. */
    message: string;
}
/** The members of a Status that say why something was refused. */
export interface Status {
    status?: string;
    code?: number;
    message?: string;
    reason?: string;
    details?: {
        causes?: Cause[];
    };
}
/** What the server refused: its Status. */
export declare class StatusError extends Error {
    readonly code: number;
    readonly reason: string;
    readonly causes: Cause[];
    constructor(code: number, body: Status);
}
/** The error that an answer is. */
export declare function refusal(answer: Response): Promise<StatusError>;
/** The lines of a body that are not empty, as they arrive. */
export declare function lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string>;
