/**
* Many watches over one connection. A browser opens six connections to a server, so the seventh watch with its own
* connection would wait. Here all watches of a page share one:
 *
 *   const stream = new WatchStream("http://127.0.0.1:8001");
 *   for await (const { type, object } of stream.watch("/api/v1/pods?resourceVersion=0")) …
 *
* It is opened with the first watch and closed with the last. With a server without shared streams, such as a
* cluster's, each watch has its own connection.
 */
export declare class WatchStream {
    private readonly server;
    private connection;
    private count;
    constructor(server: string);
    /**
    * The events of a watch until the server ends it, the signal aborts it, or the caller stops iterating. `path` is that
    * of a list, with its selectors. Throws StatusError if the server refuses it.
     */
    watch<E>(path: string, signal?: AbortSignal): AsyncGenerator<E>;
    private connect;
    private disconnect;
    /** Let the server close a watch. If this request fails, the watch ends with the connection. */
    private forget;
    private send;
    /** A watch with its own connection. */
    private alone;
}
/** The shared stream of a server for the whole page. */
export declare function sharedStream(server: string): WatchStream;
