/**
 * Starts everything that the page needs, with one command:
 *
 *   npm start
 *
 * `inkube serve` with the scripted world of world.yaml, and a web server for this folder. PORT is the port of
 * the page (3000). It runs until it is interrupted, and then stops the server, too.
 */

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("..", import.meta.url));
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript" };

/** Send a file of this folder: the page, and the scripts in lib. */
const web = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const name = normalize(pathname === "/" ? "/index.html" : pathname);
  const type = TYPES[extname(name)];
  if (type === undefined || !(name === "/index.html" || name.startsWith("/lib/"))) {
    response.writeHead(404).end();
    return;
  }
  readFile(join(folder, name)).then(
    (content) => response.writeHead(200, { "Content-Type": type }).end(content),
    () => response.writeHead(404).end(),
  );
});

web.on("error", (error) => {
  console.error(`No page is served: ${error.message}. Choose another port: PORT=3001 npm start`);
  process.exitCode = 1;
});
web.listen(Number(process.env.PORT ?? 3000), "localhost", () => {
  const origin = `http://localhost:${(web.address() as AddressInfo).port}`;
  const options = ["--offline", "--in-memory", "--port", "0", "--allow-origin", origin];
  const inkube = spawn("inkube", ["serve", ...options, "--definitions", join(folder, "world.yaml")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  inkube.on("error", () => {
    console.error("The command inkube was not found. Install it first: docs/howto/install.md");
    process.exitCode = 1;
    web.close();
  });
  createInterface(inkube.stdout).on("line", (line) => {
    const server = /^inkube serves on (\S+)$/.exec(line)?.[1];
    if (server !== undefined) console.log(`Open ${origin}/?server=${server}`);
  });
  inkube.on("exit", (code) => {
    process.exitCode ||= code ?? 0;
    web.close();
    web.closeAllConnections();
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => inkube.kill(signal));
});
