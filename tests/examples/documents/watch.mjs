const base = process.argv[2];
const url = `${base}/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories`;
async function waitByWatch(name) {
    const stop = new AbortController();
    const query = new URLSearchParams({ watch: "true", fieldSelector: `metadata.name=${name}` });
    const response = await fetch(`${url}?${query}`, { signal: stop.signal });
    if (response.body === null)
        throw new Error("the watch has no body");
    const reader = response.body.pipeThrough(new TextDecoderStream());
    let rest = "";
    for await (const chunk of reader) {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
            const { type, object } = JSON.parse(line);
            const { observedGeneration } = object.status;
            if (type !== "DELETED" && observedGeneration === object.metadata.generation) {
                stop.abort();
                return object;
            }
        }
    }
    throw new Error("the watch ended");
}
const resource = await waitByWatch("my-repo");
console.log(JSON.stringify(resource.status.fieldErrors));
export {};
