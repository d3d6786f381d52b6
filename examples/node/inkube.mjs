/**
 * Start a Kubernetes API server for a test. Needs the inkube program only: the one in the
 * environment variable INKUBE, or "inkube" in PATH.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const OTHER_STORES = ["--data", "--database", "--snapshot", "--replay"];
const LOG_BYTES = 64 * 1024;

/**
 * @typedef {object} Server
 * @property {string} url the address, for example http://127.0.0.1:40001
 * @property {string} kubeconfig the path of a kubeconfig file
 * @property {() => string} log the end of the server's log
 * @property {() => Promise<void>} stop stops the server; a second call does nothing
 */

/**
 * Start a server in memory; the promise resolves when it is ready.
 * @param {...string} options options of `inkube serve`
 * @returns {Promise<Server>}
 */
export async function start(...options) {
  const folder = await mkdtemp(join(tmpdir(), "inkube-"));
  const kubeconfig = join(folder, "kubeconfig");
  const given = ["serve", "--port", "0", "--kubeconfig", kubeconfig, "-v"];
  if (!options.some((option) => OTHER_STORES.includes(option.split("=")[0]))) given.push("--in-memory");
  const child = spawn(process.env.INKUBE ?? "inkube", [...given, ...options], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    log = (log + text).slice(-LOG_BYTES);
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let stopping;
  const stop = () =>
    (stopping ??= (async () => {
      const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
      child.kill("SIGTERM");
      await ended;
      clearTimeout(timer);
      await rm(folder, { recursive: true, force: true });
    })());
  const url = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => reject(new Error(`inkube did not start:\n${log}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = /^inkube serves on (\S+)/.exec(line);
      if (found) resolve(found[1]);
    });
  });
  return { url, kubeconfig, log: () => log, stop };
}
