// A right controller with the official client of Node: informers say which boat or ConfigMap has
// changed, and each reconciliation compares the boat with its ConfigMap.
import { CoreV1Api, CustomObjectsApi, KubeConfig, makeInformer } from "@kubernetes/client-node";

const config = new KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(CoreV1Api);
const custom = config.makeApiClient(CustomObjectsApi);
const boats = { group: "example.com", version: "v1", namespace: "default", plural: "boats" };
const namespace = "default";

/** The result of a request, or null if the object does not exist. */
async function find(request) {
  try {
    return await request;
  } catch (error) {
    if (error.code === 404) return null;
    throw error;
  }
}

async function reconcile(name) {
  const boat = await find(custom.getNamespacedCustomObject({ ...boats, name }));
  if (!boat || boat.metadata.deletionTimestamp) return;
  const { uid } = boat.metadata;
  const owner = { apiVersion: "example.com/v1", kind: "Boat", name, uid };
  const body = {
    metadata: { name: `${name}-hold`, ownerReferences: [owner] },
    data: { sails: String(boat.spec.sails) },
  };
  const present = await find(core.readNamespacedConfigMap({ name: body.metadata.name, namespace }));
  if (!present) {
    await core.createNamespacedConfigMap({ namespace, body });
  } else if (present.metadata.ownerReferences?.[0]?.uid !== uid) {
    await core.deleteNamespacedConfigMap({ name: body.metadata.name, namespace });
    await core.createNamespacedConfigMap({ namespace, body });
  } else if (present.data?.sails !== body.data.sails) {
    const changed = { ...present, data: body.data }; // with its resourceVersion
    await core.replaceNamespacedConfigMap({ name: body.metadata.name, namespace, body: changed });
  }
}

const waiting = new Map();

/** Reconcile a boat, one time after the other, and again with back-off after an error. */
function enqueue(name, pause = 100) {
  const before = waiting.get(name) ?? Promise.resolve();
  waiting.set(name, before.then(() => reconcile(name)).catch((error) => {
    console.log(`${name}: ${error.message}`);
    setTimeout(() => enqueue(name, Math.min(2 * pause, 2000)), pause);
  }));
}

/** Watch a collection, and list it again after an error. */
function follow(path, list, events, onEvent) {
  const informer = makeInformer(config, path, list);
  for (const event of events) informer.on(event, onEvent);
  const begin = () => informer.start().catch(again);
  const again = (error) => {
    console.log(`watch: ${error?.message ?? error}`);
    setTimeout(begin, 200);
  };
  informer.on("error", again);
  begin();
}

follow(
  "/apis/example.com/v1/namespaces/default/boats",
  () => custom.listNamespacedCustomObject(boats),
  ["add", "update"],
  (boat) => enqueue(boat.metadata.name),
);
follow(
  "/api/v1/namespaces/default/configmaps",
  () => core.listNamespacedConfigMap({ namespace }),
  ["update", "delete"],
  (map) => {
    for (const owner of map.metadata.ownerReferences ?? []) enqueue(owner.name);
  },
);
