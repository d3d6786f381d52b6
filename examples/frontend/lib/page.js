/**
 * The page of index.html: a form with live field errors, a list that follows a watch, and the detail of
 * one repository with its jobs. `?server=URL&namespace=NAME` say where the objects are.
 */
import { StatusError } from "./answers.js";
import { jobs, pull, recent, resources } from "./jobs.js";
import { toFormErrors } from "./forms.js";
import { badge, FIELDS, repositories, toRepository } from "./repositories.js";
const where = new URLSearchParams(location.search);
const server = where.get("server") ?? "http://127.0.0.1:8001";
const namespace = where.get("namespace") ?? "default";
const client = repositories(server, namespace);
const allJobs = jobs(server, namespace);
const NOTHING = { fields: {}, form: [], supported: {} };
const shownOf = (found) => toFormErrors(found, FIELDS);
const known = new Map();
let shown = "";
const form = find("form");
const INPUTS = ["name", "title", "url", "branch"];
// -------------------------------------------------------------------------------- the form
let turn = 0;
let timer;
/** Check the typed values shortly after the last key; only the newest response is used. */
form.addEventListener("input", (event) => {
    event.target.dataset.touched = "true";
    clearTimeout(timer);
    timer = setTimeout(() => void attempt(validate), 250);
});
form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    void attempt(save);
});
async function validate() {
    const own = ++turn;
    const errors = shownOf(await client.validate(toRepository(values())));
    if (own === turn)
        showErrors(errors, (input) => input.dataset.touched === "true");
}
async function save() {
    const own = ++turn;
    say("Saving…");
    try {
        const created = await client.create(toRepository(values()));
        if (own === turn)
            showErrors(NOTHING);
        say(`Saved ${created.metadata.name}`);
        await open(created.metadata.name);
    }
    catch (error) {
        if (!(error instanceof StatusError && error.causes.length > 0))
            throw error;
        showErrors(shownOf(error));
        say("Not saved");
    }
}
function values() {
    const [name, title, url, branch] = INPUTS.map((field) => input(field).value.trim());
    return { name, title, url, branch };
}
function showErrors(errors, isWanted = () => true) {
    for (const field of INPUTS) {
        const element = input(field);
        const text = isWanted(element) ? (errors.fields[field] ?? "") : "";
        element.setAttribute("aria-invalid", String(text !== ""));
        find(`#${field}-error`).textContent = text;
        offer(field, errors.supported[field] ?? []);
    }
    find("#form-error").textContent = errors.form.join("; ");
}
/** Suggest valid values, if the server returned some. */
function offer(field, values) {
    const list = document.querySelector(`#${field}-values`);
    const options = values.map((value) => element("option", value));
    list?.replaceChildren(...options);
}
// -------------------------------------------------------------------------------- the list
/** Follow the list as long as the page is open; after the end of a watch, start with a list again. */
async function follow() {
    for (;;) {
        known.clear();
        for await (const { type, object } of client.follow()) {
            if (type === "ERROR")
                break;
            if (type === "BOOKMARK")
                continue;
            if (type === "DELETED")
                known.delete(object.metadata.name);
            else
                known.set(object.metadata.name, object);
            showList();
            if (object.metadata.name === shown)
                showDetail();
            if (object.metadata.name === shown && type === "DELETED")
                close();
        }
    }
}
function showList() {
    const rows = [...known.values()].sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
    find("#list tbody").replaceChildren(...rows.map((repository) => {
        const { name } = repository.metadata;
        const row = element("tr", "");
        const button = element("button", name);
        button.addEventListener("click", () => void attempt(() => open(name)));
        const cell = element("td", "");
        cell.append(button);
        const { title } = repository.spec;
        row.append(cell, element("td", title), element("td", badge(repository)), element("td", state(repository)));
        return row;
    }));
    find("#empty").hidden = rows.length > 0;
}
const state = (repository) => repository.status?.sync?.state || "not synced";
// -------------------------------------------------------------------------------- the detail
async function open(name) {
    shown = name;
    find("#detail").hidden = false;
    find("#detail h2").textContent = name;
    find("#progress").textContent = "";
    showDetail();
    await showMade();
}
function showDetail() {
    const repository = known.get(shown);
    if (repository === undefined)
        return; // the watch will return it
    find("#health").textContent = badge(repository);
    find("#sync").textContent = state(repository);
    const { fields, form } = shownOf(repository);
    const texts = [...Object.entries(fields).map(([field, text]) => `${field}: ${text}`), ...form];
    find("#errors").replaceChildren(...texts.map((text) => element("li", text)));
}
async function showMade() {
    const name = shown;
    const [made, done] = await Promise.all([resources(client, name), recent(client, name)]);
    if (name !== shown)
        return;
    find("#resources").replaceChildren(...made.map(({ resource, name, title }) => element("li", `${resource}/${name}${title ? ` (${title})` : ""}`)));
    find("#jobs").replaceChildren(...done.map(({ spec, status }) => element("li", `${spec.action}: ${told(status ?? {})}`)));
}
find("#pull").addEventListener("click", () => void attempt(pullNow));
find("#delete").addEventListener("click", () => void attempt(removeNow));
async function pullNow() {
    const button = find("#pull");
    button.disabled = true;
    try {
        for await (const status of pull(allJobs, client, shown))
            find("#progress").textContent = told(status);
        await showMade();
    }
    finally {
        button.disabled = false;
    }
}
async function removeNow() {
    await client.remove(shown);
    say(`Deleted ${shown}`);
    close();
}
function close() {
    shown = "";
    find("#detail").hidden = true;
}
function told({ state, progress, message }) {
    const percent = state === "working" && progress ? ` ${progress} %` : "";
    return `${state ?? "asked for"}${percent}${message ? `: ${message}` : ""}`;
}
// -------------------------------------------------------------------------------- small things
/** Run an action, and show its errors on the page. */
async function attempt(action) {
    try {
        await action();
    }
    catch (error) {
        say(error instanceof Error ? error.message : String(error));
    }
}
function say(text) {
    find("#told").textContent = text;
}
function find(selector) {
    const found = document.querySelector(selector);
    if (found === null)
        throw new Error(`the page has no ${selector}`);
    return found;
}
const input = (field) => find(`#${field}`);
function element(tag, text) {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
}
follow().catch((error) => say(`The list ended: ${error instanceof Error ? error.message : String(error)}`));
