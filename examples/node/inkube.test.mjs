import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { start } from "./inkube.mjs";

const definition = fileURLToPath(new URL("definition.yaml", import.meta.url));
const BOATS = "/apis/example.com/v1/namespaces/default/boats";
let server;

before(async () => {
  server = await start("--definitions", definition);
});
after(() => server.stop());

const create = (crew) =>
  fetch(server.url + BOATS, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      apiVersion: "example.com/v1",
      kind: "Boat",
      metadata: { generateName: "boat-" },
      spec: { size: 5, crew },
    }),
  });

test("a valid object is stored", async () => {
  assert.equal((await create(4)).status, 201);
});

test("a rule rejects an invalid object", async () => {
  const response = await create(9);
  assert.equal(response.status, 422);
  assert.match((await response.json()).message, /more crew than places/);
});

test("the kubeconfig names the server", async () => {
  assert.ok((await readFile(server.kubeconfig, "utf8")).includes(server.url));
});

test("servers are independent, and a stopped one is gone", async () => {
  const other = await start();
  assert.equal((await fetch(other.url + BOATS)).status, 404);
  await other.stop();
  await other.stop();
  await assert.rejects(fetch(`${other.url}/readyz`));
});

test("an error at the start contains the log", async () => {
  await assert.rejects(start("--definitions", "missing.yaml"), /inkube did not start:[^]*missing\.yaml/);
});
