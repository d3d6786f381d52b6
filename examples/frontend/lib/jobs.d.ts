/** Jobs of a repository: request them, and wait for them. */
import { Client, type Resource } from "./client.js";
import { type Repository } from "./repositories.js";
export interface JobSpec {
    action?: string;
    repository?: string;
    pull?: {
        incremental?: boolean;
    };
}
export interface JobStatus {
    state?: "pending" | "working" | "success" | "warning" | "error";
    message?: string;
    progress?: number;
    errors?: string[];
    summary?: {
        kind?: string;
        total: number;
        create?: number;
        update?: number;
        delete?: number;
        noop?: number;
    }[];
}
export type Job = Resource<JobSpec, JobStatus>;
export interface ResourceItem {
    path: string;
    resource: string;
    name: string;
    title?: string;
}
export declare function jobs(server: string, namespace: string): Client<Job>;
/**
* Request a pull, and yield every state of its job. A finished job is deleted, so the last state
* is its result.
 */
export declare function pull(all: Client<Job>, of: Client<Repository>, name: string): AsyncGenerator<JobStatus>;
/** Wait until the running jobs are finished: a repository has one job at a time. */
export declare function idle(all: Client<Job>): Promise<void>;
/** The resources of the last pull. */
export declare function resources(of: Client<Repository>, name: string): Promise<ResourceItem[]>;
/** The jobs of the last ten minutes, the newest first. */
export declare function recent(of: Client<Repository>, name: string): Promise<Job[]>;
