/** Responses of a server: error responses as exceptions, streams as lines. */
import type { Finding } from "./forms.js";
/** A cause of an error response: a finding with the fields of Kubernetes. */
export interface Cause extends Finding {
    /** The same as `type`. */
    reason: string;
    /** The detail with the value before it. */
    message: string;
}
/** The members of a Status that describe an error. */
export interface Status {
    status?: string;
    code?: number;
    message?: string;
    reason?: string;
    details?: {
        causes?: Cause[];
    };
}
/** An error response: its Status. */
export declare class StatusError extends Error {
    readonly code: number;
    readonly reason: string;
    readonly causes: Cause[];
    constructor(code: number, body: Status);
}
/** The error of a response. */
export declare function refusal(answer: Response): Promise<StatusError>;
/** The lines of a body that are not empty, as they arrive. */
export declare function lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string>;
