/**
* The life of one form, with `inkube serve --offline`:
 *
 *   node lib/main.js http://127.0.0.1:8001
 *
* Prints what a page would show at every step.
 */
import { Client } from "./client.js";
import { idle, jobs, pull, recent, resources } from "./jobs.js";
import { toFormErrors } from "./forms.js";
import { badges, FIELDS, reconciledByPoll, reconciledByWatch, repositories, toRepository } from "./repositories.js";
const server = process.argv[2] ?? "http://127.0.0.1:8001";
const shown = (found) => toFormErrors(found, FIELDS);
const show = (step, value) => console.log(JSON.stringify({ step, value }));
const client = repositories(server, "default");
const hosts = new Client(server, "/apis/world.inkube.dev/v1/githosts");
// Delete the objects of an earlier run.
await client.removed("dashboards");
await hosts.removed("git.example");
// The scripted external world: a git host with one repository, one branch and one dashboard.
const dashboard = { uid: "boats", title: "Boats", schemaVersion: 39, panels: [], tags: [] };
const files = [{ path: "team/boats.json", content: JSON.stringify(dashboard) }];
await hosts.create({
    apiVersion: "world.inkube.dev/v1",
    kind: "GitHost",
    metadata: { name: "git.example" },
    spec: { repositories: [{ path: "team/dashboards", branches: ["main"], files }] },
});
const form = { name: "dashboards", title: "", url: "https://git.example/team/dashboards", branch: "mian" };
// While the user types: everything is checked, nothing is stored.
show("first try", shown(await client.validate(toRepository(form))));
form.title = "Dashboards";
show("second try", shown(await client.validate(toRepository(form))));
form.branch = "main";
show("third try", shown(await client.validate(toRepository(form))));
// Saved: wait until the controller has processed it.
const created = await client.create(toRepository(form));
show("created", shown(await reconciledByWatch(client, created)));
show("polled", shown(await reconciledByPoll(client, form.name)));
show("badges", await badges(client));
// Its files are pulled: once automatically, then at the user's request.
await reconciledByPoll(client, form.name, (repository) => repository.status?.sync?.state === "success");
const queue = jobs(server, "default");
await idle(queue);
let last = {};
for await (const status of pull(queue, client, form.name))
    last = status;
show("pulled", { state: last.state, message: last.message, summary: last.summary });
show("resources", (await resources(client, form.name)).map(({ resource, name }) => `${resource}/${name}`));
show("newest job", (await recent(client, form.name))[0]?.spec);
// The world changes, the object does not: its status shows the change.
await hosts.patch("git.example", { spec: { repositories: [{ path: "team/dashboards", branches: ["trunk"] }] } });
const broken = await reconciledByPoll(client, form.name, (repository) => !repository.status?.health?.healthy);
show("branch gone", shown(broken));
show("badges", await badges(client));
