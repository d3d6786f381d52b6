// A form: validate by a dry run while the user types, then create and wait for the controller.
interface FieldError {
  type: string;
  field: string;
  detail?: string;
  message?: string;
}

interface Repository {
  apiVersion: string;
  kind: string;
  metadata: { name: string; generation?: number };
  spec: Record<string, unknown>;
  status?: unknown;
}

interface Stored extends Repository {
  status: { fieldErrors?: FieldError[]; observedGeneration?: number };
}

const base = process.argv[2];
const url = `${base}/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories`;

async function validate(repository: Repository): Promise<FieldError[]> {
  const response = await fetch(`${url}?dryRun=All`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(repository),
  });
  if (response.status === 422) {
    const status = (await response.json()) as { details?: { causes?: FieldError[] } };
    return (status.details?.causes ?? []).map((cause) => ({
      type: cause.type,
      field: cause.field,
      message: cause.message,
    }));
  }
  const resource = (await response.json()) as Stored;
  if (resource.status.fieldErrors?.length) return resource.status.fieldErrors;
  return [];
}

async function waitForReconciliation(name: string, timeoutMs = 30000): Promise<Stored> {
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    const resource = (await (await fetch(`${url}/${name}`)).json()) as Stored;
    if (resource.status.observedGeneration === resource.metadata.generation) return resource;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("timeout waiting for reconciliation");
}

function displayErrors(resource: Stored): { valid: boolean; errors: Record<string, string | undefined> } {
  if (!resource.status.fieldErrors?.length) return { valid: true, errors: {} };
  const errors: Record<string, string | undefined> = {};
  for (const error of resource.status.fieldErrors) errors[error.field] = error.detail;
  return { valid: false, errors };
}

const github = { url: "https://github.com/grafana/grafana", branch: "nonexistent" };
const repository: Repository = {
  apiVersion: "provisioning.grafana.app/v0alpha1",
  kind: "Repository",
  metadata: { name: "my-repo" },
  spec: {
    title: "My repository",
    type: "github",
    github,
    sync: { enabled: false, target: "folder", intervalSeconds: 60 },
    workflows: [],
  },
};
const refused = await validate(repository);
const created = (await (
  await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(repository),
  })
).json()) as Stored;
const rightAfter = displayErrors(created);
const reconciled = displayErrors(await waitForReconciliation("my-repo"));
github.branch = "main";
const passed = await validate({ ...repository, metadata: { name: "other" } });
console.log(JSON.stringify({ refused, rightAfter, reconciled, passed }));
