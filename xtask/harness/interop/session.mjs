// Drives an MCP server with the TypeScript SDK: one request a line in, one answer a line out.
//
// Usage: session.mjs PACKAGES legacy COMMAND [ARGUMENT...]
//        session.mjs PACKAGES legacy URL
//
// A server at a URL is reached over Streamable HTTP, with the bearer token in WEAVER_TOKEN if there is one.
// PACKAGES is the folder with the `node_modules` that hold the SDK. The first line out is
// {"protocol": VERSION}. A request is {"method": "tools/list"} or {"method": "tools/call",
// "name": NAME, "arguments": OBJECT}; its answer is {"result": RESULT} or {"error": TEXT}. The
// session ends when standard input does.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

// Milliseconds for one answer of the server.
const PATIENCE = 60_000;

const [packages, era, command, ...args] = process.argv.slice(2);
if (era !== "legacy") {
  throw new Error(`this SDK speaks the legacy era only, not ${era}`);
}
if (command === undefined) {
  throw new Error("no command of a server to start");
}

// The script does not lie beside its packages, so it looks them up from their folder.
const require = createRequire(join(packages, "package.json"));
const { Client } = require("@modelcontextprotocol/sdk/client");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

function say(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

async function answer(client, request) {
  const options = { timeout: PATIENCE };
  switch (request.method) {
    case "tools/list":
      return client.listTools(undefined, options);
    case "tools/call": {
      const call = { name: request.name, arguments: request.arguments };
      // The SDK compares structured content with the output schema that the tool was listed with.
      return client.callTool(call, undefined, options);
    }
    default:
      throw new Error(`no method ${request.method} here`);
  }
}

function connection() {
  if (!command.startsWith("http://")) {
    return new StdioClientTransport({ command, args });
  }
  const token = process.env.WEAVER_TOKEN;
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers } });
}

const transport = connection();
let protocol;
// The client tells its transport alone which version the server has chosen.
const told = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  protocol = version;
  told?.(version);
};

const client = new Client({ name: "weaver-interop", version: "0" });
// The SDK drops a message that it cannot read and goes on. Here it fails the session.
const unread = [];
client.onerror = (error) => unread.push(String(error));
function complainOfUnread() {
  if (unread.length > 0) {
    throw new Error(`the SDK could not use a message: ${unread.splice(0).join("; ")}`);
  }
}

await client.connect(transport, { timeout: PATIENCE });
complainOfUnread();
say({ protocol });
for await (const line of createInterface({ input: process.stdin })) {
  try {
    const result = await answer(client, JSON.parse(line));
    complainOfUnread();
    say({ result });
  } catch (error) {
    // Every failure is an answer here.
    say({ error: `${error.name}: ${error.message}` });
  }
}
await client.close();
complainOfUnread();
