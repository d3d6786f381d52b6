/**
 * Many watches over one connection. A browser opens six connections to a server, so a page whose watches have one
 * each stops at the seventh. Here all watches of a page share one:
 *
 *   const stream = new WatchStream("http://127.0.0.1:8001");
 *   for await (const { type, object } of stream.watch("/api/v1/pods?resourceVersion=0")) …
 *
 * It is opened with the first watch and closed with the last. A server that has no shared streams, such as a
 * cluster's, is asked for each watch by itself.
 */
export declare class WatchStream {
    private readonly server;
    private connection;
    private count;
    constructor(server: string);
    /**
     * The events of a watch until the server ends it, the signal aborts it, or the caller stops listening. `path` is a
     * list's, with what selects its objects. Throws StatusError where the server refuses it.
     */
    watch<E>(path: string, signal?: AbortSignal): AsyncGenerator<E>;
    private connect;
    private disconnect;
    /** Have the server close a watch; where it cannot be asked, the watch ends with the connection. */
    private forget;
    private send;
    /** A watch with a connection of its own. */
    private alone;
}
/** The stream of a server that all of a page share. */
export declare function sharedStream(server: string): WatchStream;
