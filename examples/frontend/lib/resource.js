/**
* One object with live updates: `useResource(name)` reads it and follows it by a watch. While the
* server is unreachable, it retries with growing delays.
 *
 *   const { useResource } = resourceHooks(repositories(server, "default"), FIELDS);
 *   const repository = useResource("my-repo");
 *   const stop = repository.subscribe(() => render(repository.get()));
 *
 * It depends on no framework. In React: `useSyncExternalStore(repository.subscribe, repository.get)`.
 */
import {} from "./client.js";
import { toFormErrors } from "./forms.js";
export function resourceHooks(client, fields, delays = { first: 250, longest: 10_000 }) {
    const known = new Map();
    const useResource = (name) => {
        const found = known.get(name);
        if (found !== undefined)
            return found;
        const made = new Following(client, name, fields, delays, () => known.delete(name));
        known.set(name, made);
        return made;
    };
    return { useResource };
}
/** Whether the controller has processed the newest spec. */
export function isReconciled(object) {
    return object.status?.observedGeneration === object.metadata.generation;
}
class Following {
    listeners = new Set();
    state;
    stop;
    client;
    name;
    fields;
    delays;
    forget;
    constructor(client, name, fields, delays, forget) {
        this.client = client;
        this.name = name;
        this.fields = fields;
        this.delays = delays;
        this.forget = forget;
        const errors = toFormErrors([], fields);
        this.state = { object: undefined, isKnown: false, errors, isBehind: false, retries: 0, problem: undefined };
    }
    get = () => this.state;
    subscribe = (listener) => {
        this.listeners.add(listener);
        if (this.stop === undefined) {
            this.stop = new AbortController();
            void this.follow(this.stop.signal);
        }
        return () => {
            this.listeners.delete(listener);
            if (this.listeners.size > 0)
                return;
            this.stop?.abort();
            this.stop = undefined;
            this.forget();
        };
    };
    async follow(signal) {
        while (!signal.aborted) {
            try {
                for await (const { type, object } of this.client.followOne(this.name, signal)) {
                    if (type === "ERROR")
                        break;
                    if (type !== "BOOKMARK")
                        this.learn(type === "DELETED" ? undefined : object);
                    else if (!this.state.isKnown || this.state.retries > 0)
                        this.learn(this.state.object);
                }
            }
            catch (error) {
                if (signal.aborted)
                    return;
                this.change({ retries: this.state.retries + 1, problem: error instanceof Error ? error.message : String(error) });
                await pause(this.delay(), signal);
            }
        }
    }
    delay() {
        return Math.min(this.delays.longest, this.delays.first * 2 ** (this.state.retries - 1));
    }
    learn(object) {
        const errors = toFormErrors(object ?? [], this.fields);
        const isBehind = object !== undefined && !isReconciled(object);
        this.change({ object, isKnown: true, errors, isBehind, retries: 0, problem: undefined });
    }
    change(news) {
        this.state = { ...this.state, ...news };
        for (const listener of this.listeners)
            listener();
    }
}
function pause(milliseconds, signal) {
    return new Promise((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
}
