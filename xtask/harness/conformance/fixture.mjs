// The server behind the gateway in `cargo xtask conformance`: the tools, resources and prompts that
// the scenarios of the suite ask for, in both eras of the protocol, over Streamable HTTP.
//
// Usage: node fixture.mjs PORT [ERA]; with `modern`, sessions are refused as by a server of 2026-07-28 alone.

import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { RpcError } from "./rpc_error.mjs";
import * as tasks from "./tasks.mjs";

const MODERN = "2026-07-28";
const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26"];
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";
const key = randomBytes(32);

const text = (text) => ({ type: "text", text });
const content = (...blocks) => ({ content: blocks });
const object = (properties, required) => ({ type: "object", properties, ...(required && { required }) });
const image = { type: "image", data: PIXEL, mimeType: "image/png" };
const audio = { type: "audio", data: SOUND, mimeType: "audio/wav" };
const embedded = (uri, mimeType, words) => ({ type: "resource", resource: { uri, mimeType, text: words } });
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// What a tool, prompt or resource may do beside answering.
class Exchange {
  constructor(message, send, session) {
    Object.assign(this, { message, send, session });
  }

  notify(method, params) {
    this.send({ jsonrpc: "2.0", method, params });
  }

  // Asks the client of a session, and waits for its answer.
  ask(method, params) {
    const id = randomUUID();
    const answer = new Promise((resolve, reject) => this.session.asked.set(id, { resolve, reject }));
    this.send({ jsonrpc: "2.0", id, method, params });
    return answer;
  }

  get modern() {
    return this.session === undefined;
  }

  get responses() {
    const responses = this.message.params.inputResponses;
    if (responses === undefined) return {};
    if (responses === null || typeof responses !== "object" || Array.isArray(responses)) {
      throw new RpcError(-32602, "`inputResponses` is no object");
    }
    return responses;
  }

  get state() {
    return this.message.params.requestState;
  }
}

// A state that comes back as it went out, or not at all.
function seal(value) {
  const body = Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${body}.${createHmac("sha256", key).update(body).digest("base64url")}`;
}

function open(state) {
  const [body, mac] = String(state).split(".");
  if (createHmac("sha256", key).update(body ?? "").digest("base64url") !== mac) {
    throw new RpcError(-32602, "the state was changed");
  }
  return JSON.parse(Buffer.from(body, "base64url").toString());
}

const form = (message, properties, required) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: object(properties, required) },
});
const sampling = (words, maxTokens) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: text(words) }], maxTokens },
});
const roots = { method: "roots/list", params: {} };
const wants = (inputRequests, state) => ({
  resultType: "input_required",
  inputRequests,
  ...(state !== undefined && { requestState: seal(state) }),
});
const can = (x) => x.message.params._meta?.["io.modelcontextprotocol/clientCapabilities"] ?? {};
const accepted = (response) => response?.action === "accept" && response.content;
const name = form("What is your name?", { name: { type: "string" } }, ["name"]);

// Each tool: its description, its schema, what it does.
const tools = {
  test_simple_text: ["Says a text.", {}, () => content(text("This is a simple text response for testing."))],
  test_image_content: ["Shows a picture.", {}, () => content(image)],
  test_audio_content: ["Plays a sound.", {}, () => content(audio)],
  test_embedded_resource: ["Embeds a resource.", {}, () =>
    content(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))],
  test_multiple_content_types: ["Mixes blocks.", {}, () =>
    content(text("Multiple content types test:"), image,
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'))],
  test_error_handling: ["Fails.", {}, () =>
    ({ ...content(text("This tool intentionally returns an error for testing")), isError: true })],
  test_tool_with_logging: ["Logs while it works.", {}, async (x) => {
    for (const words of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      x.notify("notifications/message", { level: "info", logger: "fixture", data: words });
      await pause(50);
    }
    return content(text("Tool with logging executed successfully"));
  }],
  test_tool_with_progress: ["Tells how far it is.", {}, async (x) => {
    const progressToken = x.message.params._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
      x.notify("notifications/progress", { progressToken, progress, total: 100 });
      await pause(50);
    }
    return content(text("Tool with progress executed successfully"));
  }],
  test_sampling: ["Has the client's model say something.", object({ prompt: { type: "string" } }, ["prompt"]),
    async (x, { prompt }) => {
      const answer = await x.ask("sampling/createMessage", sampling(prompt, 100).params);
      return content(text(`LLM response: ${answer.content?.text ?? ""}`));
    }],
  test_elicitation: ["Asks the person.", object({ message: { type: "string" } }, ["message"]),
    async (x, { message }) => {
      const asked = form(message, { response: { type: "string", description: "The answer." } }, ["response"]);
      const answer = await x.ask("elicitation/create", asked.params);
      return content(text(`User response: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`));
    }],
  test_elicitation_sep1034_defaults: ["Asks with defaults.", {}, async (x) => {
    const asked = form("Check the values.", {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    }, []);
    const answer = await x.ask("elicitation/create", asked.params);
    return content(text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`));
  }],
  test_elicitation_sep1330_enums: ["Asks with choices.", {}, async (x) => {
    const plain = ["option1", "option2", "option3"];
    const titled = plain.map((value, at) => ({ const: `value${at + 1}`, title: `Option ${at + 1}` }));
    const asked = form("Choose.", {
      untitledSingle: { type: "string", enum: plain },
      titledSingle: { type: "string", oneOf: titled },
      legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
      untitledMulti: { type: "array", items: { type: "string", enum: plain } },
      titledMulti: { type: "array", items: { anyOf: titled } },
    }, []);
    const answer = await x.ask("elicitation/create", asked.params);
    return content(text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`));
  }],
  json_schema_2020_12_tool: ["Has a schema of 2020-12.", {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...object({ name: { type: "string" }, address: { $ref: "#/$defs/address" } }),
    $defs: { address: { $anchor: "address", ...object({ street: { type: "string" }, city: { type: "string" } }) } },
    allOf: [{ anyOf: [{ required: ["name"] }, { required: ["address"] }] }],
    if: { required: ["name"] },
    then: { properties: { name: { minLength: 1 } } },
    else: { required: ["address"] },
    additionalProperties: false,
  }, () => content(text("done"))],
  test_missing_capability: ["Needs a client with a model.", {}, (x) => {
    if (!can(x).sampling) throw new RpcError(-32021, "Missing capability", { requiredCapabilities: { sampling: {} } });
    return content(text("done"));
  }],
  test_streaming_elicitation: ["Asks in its result.", {}, (x) =>
    accepted(x.responses.user_name) ? content(text("done")) : wants({ user_name: name })],
  test_logging_tool: ["Logs what the request asks for.", {}, (x) => {
    if (x.message.params._meta?.["io.modelcontextprotocol/logLevel"] !== undefined) {
      x.notify("notifications/message", { level: "info", logger: "fixture", data: "logged" });
    }
    return content(text("done"));
  }],
  test_input_required_result_elicitation: ["Needs a name.", {}, (x) => {
    const given = x.responses.user_name;
    if (given !== undefined && (given === null || typeof given !== "object")) {
      throw new RpcError(-32602, "`user_name` is no answer to a form");
    }
    return accepted(given) ? content(text(`Hello, ${given.content.name}!`)) : wants({ user_name: name });
  }],
  test_input_required_result_sampling: ["Needs a model.", {}, (x) => {
    const given = x.responses.capital_question;
    return given ? content(text(`The model says: ${given.content?.text ?? ""}`))
      : wants({ capital_question: sampling("What is the capital of France?", 100) });
  }],
  test_input_required_result_list_roots: ["Needs the roots.", {}, (x) => {
    const given = x.responses.client_roots;
    return given ? content(text(`Roots: ${(given.roots ?? []).map((root) => root.uri).join(", ")}`))
      : wants({ client_roots: roots });
  }],
  test_input_required_result_request_state: ["Keeps a state.", {}, (x) => {
    if (!accepted(x.responses.confirm)) {
      return wants({ confirm: form("Please confirm", { ok: { type: "boolean" } }, ["ok"]) }, { asked: "confirm" });
    }
    return content(text(open(x.state).asked === "confirm" ? "state-ok" : "state lost"));
  }],
  test_input_required_result_tampered_state: ["Keeps a sealed state.", {}, (x) => {
    if (x.state !== undefined) open(x.state);
    return accepted(x.responses.confirm) ? content(text("done"))
      : wants({ confirm: form("Please confirm", { ok: { type: "boolean" } }, ["ok"]) }, { asked: "confirm" });
  }],
  test_input_required_result_multiple_inputs: ["Needs several things.", {}, (x) => {
    const { user_name, greeting, client_roots } = x.responses;
    if (!accepted(user_name) || !greeting || !client_roots) {
      return wants({ user_name: name, greeting: sampling("Generate a greeting", 50), client_roots: roots }, { asked: "all" });
    }
    open(x.state);
    return content(text(`Hello, ${user_name.content.name}: ${greeting.content?.text ?? ""}`));
  }],
  test_input_required_result_multi_round: ["Asks twice.", {}, (x) => {
    const state = x.state === undefined ? {} : open(x.state);
    const { step1, step2 } = x.responses;
    if (accepted(step2) && state.name !== undefined) {
      return content(text(`${state.name} likes ${step2.content.color}`));
    }
    if (accepted(step1)) {
      const color = form("Step 2: What is your favorite color?", { color: { type: "string" } }, ["color"]);
      return wants({ step2: color }, { name: step1.content.name });
    }
    return wants({ step1: form("Step 1: What is your name?", { name: { type: "string" } }, ["name"]) }, {});
  }],
  test_input_required_result_capabilities: ["Asks what the client can answer.", {}, (x) => {
    if (Object.keys(x.responses).length > 0) return content(text("done"));
    return wants({
      ...(can(x).sampling && { words: sampling("Say something.", 50) }),
      ...(can(x).elicitation && { user_name: name }),
    });
  }],
  test_header_argument: ["Takes an argument that a header repeats.",
    object({ region: { type: "string", "x-mcp-header": "Region" } }, ["region"]),
    (_, given) => content(text(`region ${given.region}`))],
  test_trigger_tool_change: ["Adds a tool, or takes it away.", {}, () =>
    change(tools, "test_changing_tool", ["Comes and goes.", {}, () => content(text("here"))], "tools")],
  test_trigger_prompt_change: ["Adds a prompt, or takes it away.", {}, () =>
    change(prompts, "test_changing_prompt", ["Comes and goes.", [], () => [user(text("here"))]], "prompts")],
  greet: ["Greets.", object({ name: { type: "string" } }), (_, given) => content(text(`Hello, ${given.name ?? "you"}!`))],
  slow_compute: ["Takes its time.", object({ seconds: { type: "number" }, label: { type: "string" } }),
    (x, { seconds = 0, label = "" }) => seconds === 0 ? content(text(`computed ${label}`)) : tasks.begin(x, async (task) => {
      await task.pause(seconds * 1000);
      return content(text(`computed ${label} in ${seconds} s`));
    })],
  failing_job: ["Fails as a task.", {}, (x) => tasks.begin(x, async (task) => {
    await task.pause(1000);
    return { ...content(text("the job failed")), isError: true };
  }, { required: true })],
  protocol_error_job: ["Breaks as a task.", {}, (x) => tasks.begin(x, async (task) => {
    await task.pause(500);
    throw new RpcError(-32603, "the job broke");
  })],
  confirm_delete: ["Asks before it deletes.", object({ filename: { type: "string" } }),
    (x, { filename }) => tasks.begin(x, async (task) => {
      const asked = form(`Delete ${filename}?`, { confirm: { type: "boolean" } }, ["confirm"]);
      const answer = await task.ask(asked);
      return content(text(accepted(answer)?.confirm ? `deleted ${filename}` : `kept ${filename}`));
    })],
  multi_input: ["Asks two things at once.", {}, (x) => tasks.begin(x, async (task) => {
    const asked = [name, form("Go on?", { confirm: { type: "boolean" } }, ["confirm"])];
    const answers = await Promise.all(asked.map((one) => task.ask(one)));
    return content(text(`answers: ${answers.map((one) => one.action).join(", ")}`));
  })],
  test_tool_with_task: ["Needs a name, and then takes its time.", {}, (x) => {
    const given = accepted(x.responses.user_name);
    const greet = async (task) => {
      await task.pause(500);
      return content(text(`Hello, ${given.name}!`));
    };
    return given ? tasks.begin(x, greet, { required: true }) : wants({ user_name: name });
  }],
};

const resources = {
  "test://static-text": { name: "Static text", mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { name: "Static binary", mimeType: "image/png", blob: PIXEL },
  "test://watched-resource": { name: "Watched", mimeType: "text/plain", text: "Watched resource content" },
};
const TEMPLATE = /^test:\/\/template\/([^/]+)\/data$/;
const user = (block) => ({ role: "user", content: block });
const argument = (name, description) => ({ name, description, required: true });

const prompts = {
  test_simple_prompt: ["A simple prompt.", [], () => [user(text("This is a simple prompt for testing."))]],
  test_prompt_with_arguments: ["A prompt with arguments.", [argument("arg1", "First."), argument("arg2", "Second.")],
    (given) => [user(text(`Prompt with arguments: arg1='${given.arg1}', arg2='${given.arg2}'`))]],
  test_prompt_with_embedded_resource: ["A prompt with a resource.", [argument("resourceUri", "Which one.")],
    (given) => [
      user(embedded(given.resourceUri, "text/plain", "Embedded resource content for testing.")),
      user(text("Please process the embedded resource above.")),
    ]],
  test_prompt_with_image: ["A prompt with a picture.", [], () => [user(image), user(text("Please analyze the image above."))]],
  test_input_required_result_prompt: ["A prompt that needs something.", [], (_, x) => {
    const given = x.responses.user_context;
    return accepted(given) ? [user(text(`Context: ${given.content.context}`))]
      : wants({ user_context: form("What context should the prompt use?", { context: { type: "string" } }, ["context"]) });
  }],
};

// What listening clients are told, by what they listen for.
const listening = new Set();

function change(all, name, item, kind) {
  if (Object.hasOwn(all, name)) delete all[name];
  else all[name] = item;
  for (const listener of listening) listener(kind);
  return content(text("changed"));
}

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
};
const serverInfo = { name: "conformance-fixture", version: "1.0.0" };

function read(uri, modern) {
  const made = TEMPLATE.exec(uri);
  if (made) return { uri, mimeType: "application/json", text: JSON.stringify({ id: made[1], templateTest: true, data: `Data for ID: ${made[1]}` }) };
  const found = resources[uri];
  if (!found) throw new RpcError(modern ? -32602 : -32002, "Resource not found", { uri });
  const { name: _, ...rest } = found;
  return { uri, ...rest };
}

const methods = {
  "server/discover": () => {
    const all = { ...capabilities, extensions: { [tasks.EXTENSION]: {} } };
    const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };
    return { supportedVersions: [MODERN, ...LEGACY], capabilities: all, serverInfo, _meta };
  },
  ...tasks.methods,
  ping: () => ({}),
  "logging/setLevel": () => ({}),
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({}),
  "completion/complete": () => ({ completion: { values: [], total: 0, hasMore: false } }),
  "tools/list": () => ({
    tools: Object.entries(tools).map(([name, [description, schema]]) =>
      ({ name, description, inputSchema: schema.type ? schema : object({}) })),
  }),
  "tools/call": (x) => {
    const tool = Object.hasOwn(tools, x.message.params.name) && tools[x.message.params.name];
    if (!tool) throw new RpcError(-32602, `Unknown tool: ${x.message.params.name}`);
    return tool[2](x, x.message.params.arguments ?? {});
  },
  "resources/list": () => ({
    resources: Object.entries(resources).map(([uri, { name, mimeType }]) => ({ uri, name, mimeType, description: name })),
  }),
  "resources/templates/list": () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "Template", mimeType: "application/json", description: "By an id." }],
  }),
  "resources/read": (x) => ({ contents: [read(x.message.params.uri, x.modern)] }),
  "prompts/list": () => ({
    prompts: Object.entries(prompts).map(([name, [description, given]]) => ({ name, description, arguments: given })),
  }),
  "prompts/get": (x) => {
    const prompt = Object.hasOwn(prompts, x.message.params.name) && prompts[x.message.params.name];
    if (!prompt) throw new RpcError(-32602, `Unknown prompt: ${x.message.params.name}`);
    const messages = prompt[2](x.message.params.arguments ?? {}, x);
    return Array.isArray(messages) ? { description: prompt[0], messages } : messages;
  },
};

// 2026-07-28: results say what they are, and for how long lists hold.
function modernResult(method, result) {
  const lasting = /^(tools|prompts|resources|resources\/templates)\/list$|^resources\/read$|^server\/discover$/;
  return { resultType: "complete", ...(lasting.test(method) && { ttlMs: 1000, cacheScope: "private" }), ...result };
}

async function answer(x) {
  const { id, method, params = {} } = x.message;
  x.message.params = params;
  try {
    const gone = x.modern
      ? ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"].includes(method)
      : Object.hasOwn(tasks.methods, method);
    const run = !gone && Object.hasOwn(methods, method) && methods[method];
    if (!run) throw new RpcError(-32601, `Method not found: ${method}`);
    const result = await run(x);
    return { jsonrpc: "2.0", id, result: x.modern ? modernResult(method, result) : result };
  } catch (error) {
    return { jsonrpc: "2.0", id, error: (error instanceof RpcError ? error : new RpcError(-32603, error.message)).body };
  }
}

const sessions = new Map();

function sorted(request) {
  const { hostname } = new URL(`http://${request.headers.host ?? "none"}`);
  const origin = request.headers.origin && new URL(request.headers.origin).hostname;
  const own = (name) => ["localhost", "127.0.0.1", "[::1]"].includes(name);
  return own(hostname) && (origin === undefined || own(origin));
}

function say(response, status, message, headers = {}) {
  const body = message === undefined ? "" : JSON.stringify(message);
  response.writeHead(status, { ...(body && { "content-type": "application/json" }), ...headers });
  response.end(body);
}

// A request is answered by a stream, so that what is told meanwhile comes first.
async function stream(response, message, session) {
  let began = false;
  const send = (line) => {
    if (!began) response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    began = true;
    response.write(`event: message\ndata: ${JSON.stringify(line)}\n\n`);
  };
  const done = await answer(new Exchange(message, send, session));
  if (!began) {
    const status = session === undefined && { [-32601]: 404, [-32021]: 400 }[done.error?.code];
    return say(response, status || 200, done);
  }
  send(done);
  response.end();
}

// The parameter that the header `Mcp-Name` repeats, by method.
const namedBy = {
  "tools/call": "name", "prompts/get": "name", "resources/read": "uri",
  "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
};

function headerText(value) {
  const coded = /^=\?base64\?(.*)\?=$/.exec(value ?? "");
  if (!coded) return value;
  const bytes = Buffer.from(coded[1], "base64");
  return bytes.toString("base64") === coded[1] ? bytes.toString() : undefined;
}

// The first argument of a call that its header does not repeat.
function unrepeated({ name, arguments: given = {} }, headers) {
  const schema = Object.hasOwn(tools, name) ? tools[name][1] : {};
  return Object.entries(schema.properties ?? {}).find(([argument, { "x-mcp-header": header }]) =>
    header && given[argument] !== undefined &&
      headerText(headers[`mcp-param-${header.toLowerCase()}`]) !== String(given[argument]))?.[0];
}

function modern(response, message, headers) {
  const meta = message.params?._meta ?? {};
  const version = meta["io.modelcontextprotocol/protocolVersion"];
  const refuse = (code, problem, data) =>
    say(response, 400, { jsonrpc: "2.0", id: message.id ?? null, error: { code, message: problem, ...(data && { data }) } });
  if (version === undefined) return refuse(-32602, "`_meta` names no protocol version");
  if (headers["mcp-protocol-version"] !== version) return refuse(-32020, "The header names another version");
  if (version !== MODERN) return refuse(-32022, "Unsupported protocol version", { supported: [MODERN, ...LEGACY], requested: version });
  if (headers["mcp-method"] !== message.method) return refuse(-32020, "The header names another method");
  const named = namedBy[message.method];
  if (named && message.params[named] !== headerText(headers["mcp-name"])) return refuse(-32020, "The header names another thing");
  const differs = message.method === "tools/call" && unrepeated(message.params, headers);
  if (differs) return refuse(-32020, `The header of the argument ${differs} says something else`);
  if (meta["io.modelcontextprotocol/clientCapabilities"] === undefined) return refuse(-32602, "`_meta` has no capabilities");
  if (message.method === "subscriptions/listen") return listen(response, message);
  return stream(response, message);
}

function listen(response, message) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const told = (line) => response.write(`event: message\ndata: ${JSON.stringify(line)}\n\n`);
  const notifications = message.params.notifications ?? {};
  const _meta = { "io.modelcontextprotocol/subscriptionId": message.id };
  told({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params: { notifications, _meta } });
  const listener = (kind) =>
    notifications[`${kind}ListChanged`] && told({ jsonrpc: "2.0", method: `notifications/${kind}/list_changed`, params: { _meta } });
  listening.add(listener);
  response.on("close", () => listening.delete(listener));
}

function legacy(response, message, headers) {
  if (message.method === "initialize") {
    const asked = message.params?.protocolVersion;
    const id = randomUUID();
    sessions.set(id, { asked: new Map() });
    const result = { protocolVersion: LEGACY.includes(asked) ? asked : LEGACY[0], capabilities, serverInfo };
    return say(response, 200, { jsonrpc: "2.0", id: message.id, result }, { "mcp-session-id": id });
  }
  const session = sessions.get(headers["mcp-session-id"]);
  if (!session) return say(response, headers["mcp-session-id"] ? 404 : 400, { jsonrpc: "2.0", id: null, error: { code: -32000, message: "No session" } });
  if (message.method === undefined) {
    const waiting = session.asked.get(message.id);
    session.asked.delete(message.id);
    if (message.error) waiting?.reject(new RpcError(-32603, message.error.message));
    else waiting?.resolve(message.result);
    return say(response, 202);
  }
  if (message.id === undefined) return say(response, 202);
  return stream(response, message, session);
}

createServer(async (request, response) => {
  if (!sorted(request)) return say(response, 403, { jsonrpc: "2.0", id: null, error: { code: -32000, message: "Another host" } });
  if (request.method === "DELETE") return say(response, sessions.delete(request.headers["mcp-session-id"]) ? 204 : 404);
  if (request.method === "GET" && sessions.has(request.headers["mcp-session-id"])) {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    return response.write(": open\n\n");
  }
  if (request.method !== "POST") return say(response, 405);
  let body = "";
  for await (const chunk of request) body += chunk;
  let message;
  try {
    message = JSON.parse(body);
  } catch {
    return say(response, 400, { jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } });
  }
  const named = message.params?._meta?.["io.modelcontextprotocol/protocolVersion"];
  if (process.argv[3] === "modern" && message.method === "initialize") {
    return say(response, 404, { jsonrpc: "2.0", id: message.id ?? null, error: { code: -32601, message: "Method not found: initialize" } });
  }
  const isModern = request.headers["mcp-protocol-version"] === MODERN || named !== undefined;
  return isModern && message.method !== undefined ? modern(response, message, request.headers) : legacy(response, message, request.headers);
}).listen(Number(process.argv[2] ?? 3000), "127.0.0.1", () => console.log("ready"));
