// A page without a browser: prints what it would show, a line for each state.
import { Client, FIELDS, repositories, resourceHooks, StatusError, toFormErrors } from "inkube-client";

const [task, server, argument] = process.argv.slice(2);
const client = repositories(server, "default");
const show = (value) => console.log(JSON.stringify(value));

if (task === "validate") {
  show(toFormErrors(await client.validate(JSON.parse(argument)), FIELDS));
} else if (task === "any") {
  const { path, fields, object } = JSON.parse(argument);
  const any = new Client(server, path);
  const validated = toFormErrors(await any.validate(object).catch((error) => error), fields);
  const created = await any.create(object).then(() => [], (error) => error);
  show({ validated, created: toFormErrors(created, fields), isError: created instanceof StatusError });
} else {
  const { useResource } = resourceHooks(client, FIELDS, { first: 20, longest: 100 });
  const followed = useResource(argument);
  followed.subscribe(() => {
    const { object, problem = null, ...rest } = followed.get();
    show({ ...rest, problem, generation: object?.metadata.generation ?? null });
  });
}
