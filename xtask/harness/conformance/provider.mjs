// A real authorization server (npm `oidc-provider`) and an MCP server that takes its tokens, for
// `cargo xtask conformance`: registration, PKCE, resource indicators, and refresh tokens that are
// rotated. Whoever comes is logged in and agrees at once, by the pages that a person would see.
//
// Usage: node provider.mjs PORT. `/seen` says what was asked of both.

import { createRequire } from "node:module";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const folder = createRequire(`${process.cwd()}/`);
const load = async (name) => import(pathToFileURL(folder.resolve(name)));
const { Provider } = await load("oidc-provider");
const { createRemoteJWKSet, jwtVerify } = await load("jose");

const port = Number(process.argv[2] ?? 3000);
const origin = `http://127.0.0.1:${port}`;
const resource = `${origin}/mcp`;
const scope = "notes:read";
const seen = { registered: 0, codes: 0, refreshed: 0, reused: 0, called: 0, refused: 0, pkce: [], resources: [] };

const provider = new Provider(origin, {
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, asked) => ({ scope, audience: asked, accessTokenFormat: "jwt", accessTokenTTL: 2 }),
    },
  },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async () => true,
  scopes: ["openid", "offline_access"],
  ttl: { AccessToken: 2 },
  clientDefaults: { id_token_signed_response_alg: "RS256" },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
});
provider.on("registration_create.success", () => (seen.registered += 1));
provider.on("grant.success", (ctx) => {
  const { grant_type, resource: asked } = ctx.oidc.params;
  seen.resources.push(asked);
  if (grant_type === "authorization_code") seen.codes += 1;
  if (grant_type === "refresh_token") seen.refreshed += 1;
});
provider.on("grant.revoked", () => (seen.reused += 1));
provider.on("authorization.success", (ctx) => seen.pkce.push(ctx.oidc.params.code_challenge_method));

// The page on which a person logs in and agrees.
async function interact(request, response) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    return provider.interactionFinished(request, response, { login: { accountId: "ann" } });
  }
  const known = grantId && (await provider.Grant.find(grantId));
  const grant = known || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope("openid offline_access");
  grant.addResourceScope(params.resource, scope);
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
}

const keys = createRemoteJWKSet(new URL(`${origin}/jwks`));
const tools = ["one", "two", "three"].map((name) => ({ name, description: "Says its name.", inputSchema: { type: "object" } }));

function say(response, status, body, headers = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body === undefined ? "" : JSON.stringify(body));
}

// The MCP server: whoever has no token for it is told where to get one.
async function serve(request, response) {
  let body = "";
  for await (const chunk of request) body += chunk;
  try {
    const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
    await jwtVerify(token, keys, { issuer: origin, audience: resource });
  } catch {
    seen.refused += 1;
    const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="${scope}"`;
    return say(response, 401, { error: "invalid_token" }, { "www-authenticate": challenge });
  }
  if (request.method !== "POST") return say(response, 405);
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return say(response, 202);
  const results = {
    initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1" } }),
    "tools/list": () => ({ tools }),
    // By the next call, the token is about to end.
    "tools/call": async () => {
      await new Promise((done) => setTimeout(done, 1200));
      seen.called += 1;
      return { content: [{ type: "text", text: params.name }] };
    },
  };
  const result = await results[method]?.();
  return say(response, 200, { jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32601, message: "no" } }) });
}

const authorize = provider.callback();
createServer((request, response) => {
  const { pathname } = new URL(request.url, origin);
  const failed = (error) => say(response, 500, { error: String(error) });
  if (pathname === "/seen") return say(response, 200, seen);
  if (pathname === "/mcp") return serve(request, response).catch(failed);
  if (pathname.startsWith("/interaction/")) return interact(request, response).catch(failed);
  if (pathname === "/.well-known/oauth-protected-resource/mcp") {
    return say(response, 200, { resource, authorization_servers: [origin], scopes_supported: [scope] });
  }
  return authorize(request, response);
}).listen(port, "127.0.0.1", () => console.log("ready"));
