/** Repositories: their types, and the operations of a page. */

import { Client, type Resource } from "./client.js";
import type { Fields, Finding } from "./forms.js";
import { isReconciled } from "./resource.js";

export interface RepositorySpec {
  title: string;
  type: "local" | "github" | "githubEnterprise" | "git" | "bitbucket" | "gitlab";
  git?: { url: string; branch?: string; path?: string };
  sync?: { enabled: boolean; target?: "folder" | "instance" | "folderless"; intervalSeconds?: number };
  workflows?: ("write" | "branch")[];
}

export interface RepositoryStatus {
  observedGeneration?: number;
  fieldErrors?: Finding[];
  health?: { healthy: boolean; checked: number; message?: string[] };
  sync?: { state: string; message: string[]; lastRef?: string };
  stats?: { group: string; resource: string; count: number }[];
}

export type Repository = Resource<RepositorySpec, RepositoryStatus>;

export const GROUP = "/apis/provisioning.grafana.app/v0alpha1";

export function repositories(server: string, namespace: string): Client<Repository> {
  return new Client<Repository>(server, `${GROUP}/namespaces/${namespace}/repositories`);
}

/** The values of the form. */
export interface RepositoryForm {
  name: string;
  title: string;
  url: string;
  branch: string;
}

/** The form's fields by path of the server. */
export const FIELDS: Fields<keyof RepositoryForm> = {
  "metadata.name": "name",
  "spec.title": "title",
  "spec.git.url": "url",
  "spec.git.branch": "branch",
};

export function toRepository(form: RepositoryForm): Repository {
  return {
    apiVersion: "provisioning.grafana.app/v0alpha1",
    kind: "Repository",
    metadata: { name: form.name },
    spec: {
      title: form.title,
      type: "git",
      git: { url: form.url, branch: form.branch },
      sync: { enabled: true, target: "folder", intervalSeconds: 60 },
    },
  };
}

/** Wait for the controller by a watch: the first state, then changes only. */
export async function reconciledByWatch(client: Client<Repository>, repository: Repository): Promise<Repository> {
  if (isReconciled(repository)) return repository;
  const { name, resourceVersion = "" } = repository.metadata;
  for await (const event of client.watch(name, resourceVersion)) {
    if (event.type === "DELETED") throw new Error(`${name} was deleted`);
    if (event.type === "ERROR") break;
    if (event.type !== "BOOKMARK" && isReconciled(event.object)) return event.object;
  }
  return reconciledByWatch(client, await client.get(name));
}

/** Wait for the controller, or for any other condition of the object, by polling. */
export async function reconciledByPoll(
  client: Client<Repository>,
  name: string,
  isDone: (repository: Repository) => boolean = isReconciled,
  { interval = 250, attempts = 120 } = {},
): Promise<Repository> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const repository = await client.get(name);
    if (isDone(repository)) return repository;
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
  throw new Error(`${name} was not reconciled in time`);
}

/** The values that a list shows next to each name; one request for all objects. */
export interface Badge {
  name: string;
  text: "pending" | "healthy" | "1 error" | `${number} errors`;
}

export async function badges(client: Client<Repository>): Promise<Badge[]> {
  return (await client.list()).map((repository) => ({ name: repository.metadata.name, text: badge(repository) }));
}

export function badge(repository: Repository): Badge["text"] {
  if (!isReconciled(repository)) return "pending";
  const count = repository.status?.fieldErrors?.length ?? 0;
  if (count === 0) return "healthy";
  return count === 1 ? "1 error" : `${count} errors`;
}
