// What the console's modules compute, without a browser: `node --test`.
import assert from "node:assert/strict";
import test from "node:test";

const load = (name) => import(`../../../apiserver/console/assets/${name}.js`);
const { diffLines } = await load("diff");
const { parsePath, resolve, keyOf, format } = await load("paths");
const { dump, findLines, nearest, paint } = await load("yaml");
const { allParts, breakPart, mendPart } = await load("worldparts");
const { inMode, readRefusal, removeField } = await load("drafts");
const { readManagers } = await load("managers");
const { age } = await load("format");
const { select } = await load("rows");
const { search, searchObjects } = await load("finding");

const WEB = { spec: { containers: [{ name: "log" }, { name: "web", image: "nginx" }] }, list: ["a", "b"] };

test("a difference gives both texts back, and no shorter one does", () => {
  const random = (seed) => () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const next = random(7);
  const text = () => Array.from({ length: Math.floor(next() * 10) }, () => "abc"[Math.floor(next() * 3)]).join("\n");
  for (let turn = 0; turn < 500; turn++) {
    const [before, after] = [text(), text()];
    const found = diffLines(before, after);
    const side = (sort) => found.filter(([each]) => each !== sort).map(([, line]) => line).join("\n");
    assert.equal(side("+"), before);
    assert.equal(side("-"), after);
    assert.equal(found.filter(([sort]) => sort === " ").length, longest(before, after));
  }
});

function longest(before, after) {
  const a = before ? before.split("\n") : [];
  const b = after ? after.split("\n") : [];
  const rows = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      rows[i][j] = a[i - 1] === b[j - 1] ? rows[i - 1][j - 1] + 1 : Math.max(rows[i - 1][j], rows[i][j - 1]);
    }
  }
  return rows[a.length][b.length];
}

test("paths are read as every server writes them", () => {
  const cases = {
    "spec.crew[0].port": ["spec", "crew", 0, "port"],
    ".spec.replicas": ["spec", "replicas"],
    "metadata.labels[app.kubernetes.io/name]": ["metadata", "labels", "app.kubernetes.io/name"],
    'spec.containers[name="web"].image': ["spec", "containers", { name: "web" }, "image"],
    'list[="b"]': ["list", { "=": "b" }],
    'ports[containerPort=80,protocol="TCP"]': ["ports", { containerPort: 80, protocol: "TCP" }],
    "": [],
  };
  for (const [text, path] of Object.entries(cases)) assert.deepEqual(parsePath(text), path);
});

test("a path finds its item by its keys, and ends where the object does", () => {
  assert.deepEqual(resolve(WEB, parsePath('spec.containers[name="web"].image')), ["spec", "containers", 1, "image"]);
  assert.deepEqual(resolve(WEB, parsePath('list[="b"]')), ["list", 1]);
  assert.deepEqual(resolve(WEB, parsePath("spec.containers[0].image")), ["spec", "containers", 0]);
  const dotted = { data: { "a.b": { c: 1 } } };
  assert.deepEqual(resolve(dotted, parsePath("data.a.b.c")), ["data", "a.b", "c"]);
  assert.equal(format(["metadata", "labels", "a/b", 0]), "metadata.labels[a/b][0]");
});

test("every field has its lines", () => {
  const object = { a: { "x/y": "1", text: "one\ntwo\n" }, list: [{ k: 1, more: [true] }, {}], flow: null };
  const text = dump(object);
  const lines = text.split("\n");
  const places = findLines(text);
  const at = (...path) => places.get(keyOf(path));
  assert.match(lines[at("a", "x/y").first], /x\/y: '1'/);
  assert.deepEqual([at("a", "text").first + 2, at("a").last], [at("a", "text").last, at("a", "text").last]);
  assert.match(lines[at("list", 0, "more", 0).first], /- true/);
  assert.equal(at("list").last, at("list", 1).last);
  assert.deepEqual(nearest(places, ["a", "none", "deep"]).path, ["a"]);
  assert.throws(() => findLines("a: [1\nb: 2"), (error) => error.line === 1);
});

test("a painted line is the line", () => {
  for (const line of ["  - name: web", "a/b.c: 'x: y' # no", "text: |", "# all", "", "  - - 1", 'url: "http://x"']) {
    assert.equal(paint(line).map(([, text]) => text).join(""), line);
  }
  assert.deepEqual(paint("n: 12")[0], ["key", "n"]);
  assert.equal(paint("n: 12").at(-1)[0], "number");
});

const patched = (object, patch) => ({ ...object, spec: { ...object.spec, ...patch.spec }, metadata: { annotations: patch.metadata.annotations } });
const HOST = {
  metadata: {},
  spec: { tokens: [{ value: "t" }], repositories: [{ path: "a/b", branches: ["main", "dev"], defaultBranch: "main" }] },
};

test("what is broken is mended as it was", () => {
  for (const [place, part] of [["branches/a/b", { id: "main", label: "main" }], ["tokens", { id: "t", label: "t" }]]) {
    const broken = patched(HOST, breakPart(HOST, place, part));
    assert.notDeepEqual(broken.spec, HOST.spec);
    assert.deepEqual(allParts(broken, place, []), [[part, false]]);
    const mended = patched(broken, mendPart(broken, place, part));
    assert.deepEqual(mended.spec, HOST.spec);
    assert.equal(mended.metadata.annotations["console.inkube.dev/broken"], null);
  }
});

test("the last token that is revoked leaves no open door", () => {
  const broken = patched(HOST, breakPart(HOST, "tokens", { id: "t", label: "t" }));
  assert.equal(broken.spec.tokens.length, 1);
  assert.notEqual(broken.spec.tokens[0].value, "t");
});

test("a field goes from a draft with what it leaves empty", () => {
  const text = dump({ spec: { a: { only: 1 }, list: [{ x: 1, y: 2 }] } });
  assert.equal(removeField(text, ["spec", "a", "only"]), dump({ spec: { list: [{ x: 1, y: 2 }] } }));
  assert.equal(removeField(text, ["spec", "list", 0, "x"]), dump({ spec: { a: { only: 1 }, list: [{ y: 2 }] } }));
});

test("an apply names no version, an update does", () => {
  const text = "metadata:\n  resourceVersion: '5'\n  name: a\n";
  assert.equal(inMode(text, "apply", ""), "metadata:\n  name: a\n");
  assert.equal(inMode(inMode(text, "apply", ""), "update", "7"), "metadata:\n  resourceVersion: '7'\n  name: a\n");
});

test("a strict refusal is told at its fields", () => {
  const error = { code: 400, causes: [], message: 'strict decoding error: unknown field "spec.sails", unknown field "x"' };
  assert.deepEqual(readRefusal(error).problems.map((each) => each.field), ["spec.sails", "x"]);
});

test("owners are read from managedFields", () => {
  const fieldsV1 = { "f:spec": { "f:containers": { 'k:{"name":"web"}': { ".": {}, "f:image": {} } } }, "f:list": { 'v:"b"': {} } };
  const object = { ...WEB, metadata: { managedFields: [{ manager: "ann", operation: "Apply", time: "2026-01-01T00:00:00Z", fieldsV1 }] } };
  const { managers, owners } = readManagers(object);
  assert.deepEqual(managers.map((each) => each.name), ["ann"]);
  assert.equal(owners.get(keyOf(["spec", "containers", 1, "image"])), 1);
  assert.equal(owners.get(keyOf(["list", 1])), 1);
  assert.equal(owners.get(keyOf(["spec"])), undefined);
});

test("ages, searches and orders are those of kubectl", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  assert.equal(age("2026-01-01T00:00:00Z", now), "1d");
  assert.equal(age("2026-01-01T23:59:30Z", now), "30s");
  const row = (name, size) => [name, { key: `/${name}`, name, cells: [name, size], text: name, metadata: {} }];
  const rows = new Map([row("b", 2), row("a", 10), row("c", null)]);
  assert.deepEqual(select(rows, "", 1, false).map((each) => each.name), ["c", "b", "a"]);
  assert.deepEqual(select(rows, "", -1, true).map((each) => each.name), ["c", "b", "a"]);
  assert.deepEqual(select(rows, "B", -1, false).map((each) => each.name), ["b"]);
  const kind = (kind, plural, shortNames = []) => ({ kind, plural, shortNames, group: "", verbs: ["list"] });
  const all = [kind("ConfigMap", "configmaps", ["cm"]), kind("Pod", "pods", ["po"]), kind("PodTemplate", "podtemplates")];
  assert.deepEqual(search(all, "po").map((each) => each.kind), ["Pod", "PodTemplate"]);
  assert.deepEqual(search(all, "cm").map((each) => each.kind), ["ConfigMap"]);
});

test("objects are found by a part of their name, beginnings first", () => {
  const all = ["big-argo", "argo", "calypso"].map((name) => ({ metadata: { name } }));
  assert.deepEqual(searchObjects(all, "ARGO").map((each) => each.metadata.name), ["argo", "big-argo"]);
});

test("metrics become figures: watches are not slow, and only the server's faults are errors", async () => {
  globalThis.localStorage ??= { getItem: () => null, setItem() {} };
  const { parse } = await load("figures");
  const found = parse(`
# HELP apiserver_request_total Requests.
apiserver_request_total{code="200",verb="GET"} 7.0
apiserver_request_total{code="404",verb="GET"} 2.0
apiserver_request_total{code="500",verb="POST"} 1.0
apiserver_request_duration_seconds_bucket{le="1.0",verb="GET"} 8.0
apiserver_request_duration_seconds_bucket{le="+Inf",verb="GET"} 9.0
apiserver_request_duration_seconds_count{verb="GET"} 9.0
apiserver_request_duration_seconds_count{verb="WATCH"} 5.0
apiserver_resource_objects{group="",resource="configmaps"} 3.0
apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 4096.0
`);
  assert.deepEqual(found, { objects: new Map([["/configmaps", 3]]), bytes: 4096, requests: 10, errors: 1, slow: 1 });
});
