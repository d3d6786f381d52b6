const base = process.argv[2];
const url = `${base}/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories`;
const { items } = (await (await fetch(url)).json());
const rows = items.map((resource) => ({
    name: resource.metadata.name,
    healthy: resource.status.health.healthy,
    state: resource.status.sync.state,
    isPending: resource.status.observedGeneration !== resource.metadata.generation,
    errors: resource.status.fieldErrors?.length ?? 0,
    messages: (resource.status.fieldErrors ?? []).map((error) => `${error.field}: ${error.detail}`),
}));
console.log(JSON.stringify(rows));
export {};
