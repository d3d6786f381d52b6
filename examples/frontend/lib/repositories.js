/** Repositories: their types, and the operations of a page. */
import { Client } from "./client.js";
import { isReconciled } from "./resource.js";
export const GROUP = "/apis/provisioning.grafana.app/v0alpha1";
export function repositories(server, namespace) {
    return new Client(server, `${GROUP}/namespaces/${namespace}/repositories`);
}
/** The form's fields by path of the server. */
export const FIELDS = {
    "metadata.name": "name",
    "spec.title": "title",
    "spec.git.url": "url",
    "spec.git.branch": "branch",
};
export function toRepository(form) {
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
export async function reconciledByWatch(client, repository) {
    if (isReconciled(repository))
        return repository;
    const { name, resourceVersion = "" } = repository.metadata;
    for await (const event of client.watch(name, resourceVersion)) {
        if (event.type === "DELETED")
            throw new Error(`${name} was deleted`);
        if (event.type === "ERROR")
            break;
        if (event.type !== "BOOKMARK" && isReconciled(event.object))
            return event.object;
    }
    return reconciledByWatch(client, await client.get(name));
}
/** Wait for the controller, or for any other condition of the object, by polling. */
export async function reconciledByPoll(client, name, isDone = isReconciled, { interval = 250, attempts = 120 } = {}) {
    for (let attempt = 0; attempt < attempts; attempt++) {
        const repository = await client.get(name);
        if (isDone(repository))
            return repository;
        await new Promise((resolve) => setTimeout(resolve, interval));
    }
    throw new Error(`${name} was not reconciled in time`);
}
export async function badges(client) {
    return (await client.list()).map((repository) => ({ name: repository.metadata.name, text: badge(repository) }));
}
export function badge(repository) {
    if (!isReconciled(repository))
        return "pending";
    const count = repository.status?.fieldErrors?.length ?? 0;
    if (count === 0)
        return "healthy";
    return count === 1 ? "1 error" : `${count} errors`;
}
