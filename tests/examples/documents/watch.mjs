// Wait for the controller by a watch of one object.
const base = process.argv[2];
const url = `${base}/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories`;

async function waitByWatch(name) {
  const stop = new AbortController();
  const query = new URLSearchParams({ watch: "true", fieldSelector: `metadata.name=${name}` });
  const response = await fetch(`${url}?${query}`, { signal: stop.signal });
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const { type, object } = JSON.parse(line);
      const { observedGeneration } = object.status;
      if (type !== "DELETED" && observedGeneration === object.metadata.generation) {
        stop.abort();
        return object;
      }
    }
  }
}

const resource = await waitByWatch("my-repo");
console.log(JSON.stringify(resource.status.fieldErrors));
