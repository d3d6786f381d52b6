export interface Server {
  /** The address, for example http://127.0.0.1:40001. */
  readonly url: string;
  /** The path of a kubeconfig file. */
  readonly kubeconfig: string;
  /** The end of the server's log. */
  log(): string;
  /** Stop the server. A second call does nothing. */
  stop(): Promise<void>;
}

/** Start a server in memory, with options of `inkube serve`. Resolves when it is ready. */
export function start(...options: string[]): Promise<Server>;
