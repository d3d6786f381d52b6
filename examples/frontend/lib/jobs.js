/** Jobs of a repository: request them, and wait for them. */
import { Client } from "./client.js";
import { GROUP } from "./repositories.js";
export function jobs(server, namespace) {
    return new Client(server, `${GROUP}/namespaces/${namespace}/jobs`);
}
/**
* Request a pull, and yield every state of its job. A finished job is deleted, so the last state
* is its result.
 */
export async function* pull(all, of, name) {
    const asked = await of.post(name, "jobs", { pull: { incremental: false } });
    const { uid, resourceVersion = "" } = asked.metadata;
    yield asked.status ?? {};
    for await (const event of all.watch(asked.metadata.name, resourceVersion)) {
        if (event.type === "ERROR")
            throw new Error("the watch of the job ended");
        if (event.object.metadata.uid !== uid)
            continue;
        if (event.type === "DELETED")
            return;
        yield event.object.status ?? {};
    }
}
/** Wait until the running jobs are finished: a repository has one job at a time. */
export async function idle(all) {
    for (const job of await all.list())
        await all.gone(job.metadata.name);
}
/** The resources of the last pull. */
export async function resources(of, name) {
    return (await of.read(name, "resources")).items;
}
/** The jobs of the last ten minutes, the newest first. */
export async function recent(of, name) {
    return (await of.read(name, "jobs")).items;
}
