// Every block of TypeScript in the documents, restated: each prints what its page would show.
import { api, ApiError, Form, mapFieldPathToFormField, sleep } from "./api.mjs";
const input = JSON.parse(process.argv[4] ?? "{}");
/** Wait for the controller: a watch. */
async function byWatch(name) {
    return new Promise((resolve) => {
        const watch = api.watchResource(name);
        watch.on("update", (resource) => {
            if (resource.status.observedGeneration === resource.metadata.generation) {
                watch.close();
                resolve(resource);
            }
        });
    });
}
/** Wait for the controller: a poll. */
async function byPoll(name, kind = "Repository") {
    while (true) {
        const resource = await api.getResource(name, kind);
        if (resource.status.observedGeneration === resource.metadata.generation)
            return resource;
        await sleep(50);
    }
}
/** Before creation: everything is checked, nothing is stored. */
async function validateBeforeCreate(draft) {
    try {
        await api.createResource(draft, { dryRun: true });
        return [];
    }
    catch (error) {
        if (error instanceof ApiError && error.status === 422 && error.body.details?.causes) {
            return error.body.details.causes.map((cause) => ({
                field: cause.field,
                message: cause.detail,
                type: cause.type,
            }));
        }
        throw error;
    }
}
/** Both phases behind one button. */
async function create(draft) {
    const form = new Form();
    const errors = await validateBeforeCreate(draft);
    if (errors.length > 0) {
        errors.forEach((error) => form.setFieldError(mapFieldPathToFormField(error.field), error.message));
        return form.shown;
    }
    const resource = await api.createResource(draft);
    const reconciled = await byWatch(resource.metadata.name);
    (reconciled.status.fieldErrors ?? []).forEach((error) => {
        form.setFieldError(mapFieldPathToFormField(error.field), error.detail);
    });
    return form.shown;
}
const tasks = {
    // the first example: the field beside which an error is shown
    async installation() {
        const form = new Form();
        const connection = await byPoll("my-connection", "Connection");
        connection.status.fieldErrors?.forEach((error) => {
            if (error.field === "spec.installationID")
                form.setFieldError("installationID", error.detail);
        });
        return form.shown;
    },
    // the second: a badge with the first error
    async badges() {
        const repositories = await api.get("/repositories");
        return repositories.map(({ metadata, status }) => [
            metadata.name,
            (status.fieldErrors?.length ?? 0) > 0 ? status.fieldErrors?.[0]?.detail : "",
        ]);
    },
    // the third: all errors by field
    async grouped() {
        const form = new Form();
        const repository = await byPoll("my-repo");
        repository.status.fieldErrors?.forEach((error) => {
            form.setFieldError(mapFieldPathToFormField(error.field), error.detail);
        });
        return form.shown;
    },
    byWatch: async () => (await byWatch("my-repo")).status.fieldErrors,
    byPoll: async () => (await byPoll("my-repo")).status.fieldErrors,
    // what is always current, without an endpoint of its own
    current: async () => (await api.get("/repositories/my-repo")).status.fieldErrors,
    validate: () => validateBeforeCreate(input),
    create: () => create(input),
    // endpoints that are not there
    async absent() {
        const paths = ["/repositories/test", "/repositories/validate", "/connections/validate", "/repositories/my-repo/test"];
        const codes = [];
        for (const path of [...paths, "/dashboards/check"]) {
            try {
                await api.post(path, input);
                codes.push(201);
            }
            catch (error) {
                codes.push(error instanceof ApiError ? error.status : String(error));
            }
        }
        return codes;
    },
    // the second document: the server's rules are the only ones
    async branch() {
        const form = new Form();
        try {
            await api.createResource(input);
        }
        catch (error) {
            if (!(error instanceof ApiError && error.status === 422 && error.body.details?.causes))
                throw error;
            error.body.details.causes.forEach((cause) => {
                if (cause.field === "spec.github.branch")
                    form.setFieldError("branch", cause.detail);
                else
                    form.setFieldError(cause.field, cause.detail);
            });
        }
        return form.shown;
    },
};
const task = tasks[process.argv[3] ?? ""];
if (task === undefined)
    throw new Error(`no block ${process.argv[3]}`);
console.log(JSON.stringify(await task()));
