// Makes a server that is reached over Streamable HTTP one on standard input and output, with the
// transport of the TypeScript SDK.
//
// Usage: http_pipe.mjs PACKAGES URL
//
// PACKAGES is the folder with the `node_modules` that hold the SDK. The bearer token is in WEAVER_TOKEN
// if there is one. Every message passes unchanged.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [packages, url] = process.argv.slice(2);
const require = createRequire(join(packages, "package.json"));
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const token = process.env.WEAVER_TOKEN;
const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
let initialize;
transport.onmessage = (message) => {
  if (message.id !== undefined && message.id === initialize && message.result !== undefined) {
    initialize = undefined;
    transport.setProtocolVersion(message.result.protocolVersion);
  }
  process.stdout.write(`${JSON.stringify(message)}\n`);
};
transport.onerror = (error) => process.stderr.write(`${error}\n`);
await transport.start();

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.method === "initialize") {
    initialize = message.id;
  }
  const sent = transport.send(message).catch((error) => process.stderr.write(`${error}\n`));
  // A request ends with its answer, which may be long in coming; what opens the session is waited for.
  if (message.method === "initialize" || message.method === "notifications/initialized") {
    await sent;
  }
}
await transport.terminateSession().catch(() => {});
await transport.close();
