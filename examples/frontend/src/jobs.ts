/** Jobs of a repository: request them, and wait for them. */

import { Client, type Resource } from "./client.js";
import { GROUP, type Repository } from "./repositories.js";

export interface JobSpec {
  action?: string;
  repository?: string;
  pull?: { incremental?: boolean };
}

export interface JobStatus {
  state?: "pending" | "working" | "success" | "warning" | "error";
  message?: string;
  progress?: number;
  errors?: string[];
  summary?: { kind?: string; total: number; create?: number; update?: number; delete?: number; noop?: number }[];
}

export type Job = Resource<JobSpec, JobStatus>;

export interface ResourceItem {
  path: string;
  resource: string;
  name: string;
  title?: string;
}

export function jobs(server: string, namespace: string): Client<Job> {
  return new Client<Job>(server, `${GROUP}/namespaces/${namespace}/jobs`);
}

/**
* Request a pull, and yield every state of its job. A finished job is deleted, so the last state
* is its result.
 */
export async function* pull(all: Client<Job>, of: Client<Repository>, name: string): AsyncGenerator<JobStatus> {
  const asked = await of.post<Job>(name, "jobs", { pull: { incremental: false } });
  const { uid, resourceVersion = "" } = asked.metadata;
  yield asked.status ?? {};
  for await (const event of all.watch(asked.metadata.name, resourceVersion)) {
    if (event.type === "ERROR") throw new Error("the watch of the job ended");
    if (event.object.metadata.uid !== uid) continue;
    if (event.type === "DELETED") return;
    yield event.object.status ?? {};
  }
}

/** Wait until the running jobs are finished: a repository has one job at a time. */
export async function idle(all: Client<Job>): Promise<void> {
  for (const job of await all.list()) await all.gone(job.metadata.name);
}

/** The resources of the last pull. */
export async function resources(of: Client<Repository>, name: string): Promise<ResourceItem[]> {
  return (await of.read<{ items: ResourceItem[] }>(name, "resources")).items;
}

/** The jobs of the last ten minutes, the newest first. */
export async function recent(of: Client<Repository>, name: string): Promise<Job[]> {
  return (await of.read<{ items: Job[] }>(name, "jobs")).items;
}
