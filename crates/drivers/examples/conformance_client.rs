//! What `cargo xtask conformance` drives as a client: connects to the server at the address that
//! stands last on its command line, logs in where that is asked for, lists the tools and calls each.
//!
//! The authorization servers of the suite ask nobody: they answer with the redirect at once. A real one
//! has pages of its own in between, which know their reader by cookies.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Map, Value, json};
use weaver_drivers::http::{Secret, SecretError, SecretProvider};
use weaver_drivers::mcp::{
    CallRequest, Endpoint, EraChoice, HttpConfig, ListedTool, MODERN_VERSION, RequestHandler,
    Upstream, UpstreamConfig,
};
use weaver_drivers::oauth::{
    AssertionSource, AuthorizationAgent, DevicePrompt, GrantType, InMemoryLoginStore, OAuthClient,
    OAuthError, OAuthSettings, TokenExchange,
};
use weaver_types::BoxFuture;
use zeroize::Zeroizing;

/// The document about this client that the suite expects.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// Where a person is sent back to.
const REDIRECT_URI: &str = "http://127.0.0.1:3000/callback";
/// How many pages an authorization server may have.
const MAX_PAGES: usize = 16;

struct FollowsRedirect;

impl AuthorizationAgent for FollowsRedirect {
    fn redirect_uri(&self) -> String {
        REDIRECT_URI.to_owned()
    }

    fn authorize(&self, address: Url) -> BoxFuture<'_, Result<Url, OAuthError>> {
        let followed = followed(address);
        let followed = followed.map_err(|_| OAuthError::Unfinished("there was no redirect"));
        Box::pin(std::future::ready(followed))
    }

    fn show_code(&self, _: &DevicePrompt) {}
}

/// Where the pages of an authorization server lead to in the end.
fn followed(address: Url) -> io::Result<Url> {
    let (mut address, mut cookies) = (address, BTreeMap::new());
    for _ in 0..MAX_PAGES {
        let to = location(&address, &mut cookies)?;
        address = address.join(&to).map_err(io::Error::other)?;
        if address.as_str().starts_with(REDIRECT_URI) {
            return Ok(address);
        }
    }
    Err(io::Error::other("too many redirects"))
}

/// Where a plain HTTP address redirects to; takes and sends cookies as a browser would.
fn location(address: &Url, cookies: &mut BTreeMap<String, String>) -> io::Result<String> {
    let (host, port) = (address.host_str().unwrap_or_default(), address.port().unwrap_or(80));
    let mut stream = TcpStream::connect((host, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let target = address.as_str().splitn(4, '/').nth(3).unwrap_or_default();
    let sent: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let sent = sent.join("; ");
    write!(
        stream,
        "GET /{target} HTTP/1.1\r\nhost: {host}:{port}\r\ncookie: {sent}\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.take(64 * 1024).read_to_string(&mut answer)?;
    let head = answer.split("\r\n\r\n").next().unwrap_or_default();
    let headers = || head.lines().filter_map(|line| line.split_once(':'));
    for (_, value) in headers().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")) {
        let cookie = value.split(';').next().unwrap_or_default().trim();
        if let Some((name, value)) = cookie.split_once('=') {
            cookies.insert(name.to_owned(), value.to_owned());
        }
    }
    let to = headers().find(|(name, _)| name.eq_ignore_ascii_case("location"));
    to.map(|(_, to)| to.trim().to_owned()).ok_or_else(|| io::Error::other("no redirect"))
}

struct FixedSecret(String);

impl SecretProvider for FixedSecret {
    fn secret(&self) -> BoxFuture<'_, Result<Secret, SecretError>> {
        Box::pin(std::future::ready(Secret::new(Zeroizing::new(self.0.clone()))))
    }

    fn text(&self) -> BoxFuture<'_, Result<Zeroizing<String>, SecretError>> {
        Box::pin(std::future::ready(Ok(Zeroizing::new(self.0.clone()))))
    }
}

/// What the suite tells of the scenario: credentials, and calls that are to be made.
fn context() -> Value {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    serde_json::from_str(&context).unwrap_or_default()
}

/// The arguments of each call of a tool: those that the suite names, or one call with made-up ones.
fn calls(tool: &ListedTool, all: &[ListedTool]) -> Vec<Map<String, Value>> {
    let context = context();
    let named = context.get("toolCalls").and_then(Value::as_array);
    let named = named.into_iter().flatten();
    let named = named.filter(|call| call.get("name").and_then(Value::as_str) == Some(tool.name()));
    let given = named.filter_map(|call| call.get("arguments")?.as_object().cloned());
    let given: Vec<_> = given.collect();
    if !given.is_empty() {
        return given;
    }
    let mut made_up = arguments(tool.value());
    // One scenario wants to see the schema of its first tool again.
    let schema = all.first().and_then(|tool| tool.value().get("inputSchema"));
    if let (Some(echoed), Some(schema)) = (made_up.get_mut("schema"), schema) {
        *echoed = schema.clone();
    }
    vec![made_up]
}

fn settings() -> OAuthSettings {
    let context = context();
    let text = |key: &str| context.get(key).and_then(Value::as_str).map(str::to_owned);
    let secret =
        |key: &str| -> Option<Arc<dyn SecretProvider>> { Some(Arc::new(FixedSecret(text(key)?))) };
    // A scenario without a person to agree says so by its name alone.
    let name = text("name").unwrap_or_default();
    let grant = match name.as_str() {
        name if name.starts_with("auth/client-credentials") => GrantType::ClientCredentials,
        "auth/wif-jwt-bearer" | "auth/enterprise-managed-authorization" => GrantType::JwtBearer,
        _ => GrantType::AuthorizationCode,
    };
    let exchange = || {
        Some(AssertionSource::Exchange(TokenExchange {
            issuer: text("idp_issuer")?,
            client_id: text("idp_client_id")?,
            client_secret: None,
            subject_token: secret("idp_id_token")?,
        }))
    };
    OAuthSettings {
        grant,
        issuer: None,
        client_name: "Weaver".to_owned(),
        client_id: text("client_id"),
        client_secret: secret("client_secret"),
        client_key: secret("private_key_pem"),
        client_key_id: None,
        assertion: secret("valid_jwt").map(AssertionSource::Token).or_else(exchange),
        dpop_bound_access_tokens: false,
        client_metadata_url: Some(DOCUMENT.to_owned()),
        scopes: BTreeSet::new(),
        certificate_authority: None,
        principal: None,
    }
}

/// Accepts a form with the defaults of its fields.
fn elicited(params: &Value) -> Value {
    let fields = params.pointer("/requestedSchema/properties").and_then(Value::as_object);
    let defaults = fields
        .into_iter()
        .flatten()
        .filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())));
    json!({ "action": "accept", "content": defaults.collect::<Map<_, _>>() })
}

/// Arguments of the types that a schema asks for.
fn arguments(tool: &Value) -> Map<String, Value> {
    let fields = tool.pointer("/inputSchema/properties").and_then(Value::as_object);
    let fields = fields.into_iter().flatten().enumerate();
    fields
        .map(|(at, (name, field))| {
            let value = match field.get("type").and_then(Value::as_str) {
                Some("number" | "integer") => json!(at.saturating_add(2)),
                Some("boolean") => json!(true),
                Some("array") => json!([]),
                Some("object") => json!({}),
                _ => field.get("default").cloned().unwrap_or_else(|| json!("text")),
            };
            (name.clone(), value)
        })
        .collect()
}

async fn run(url: String) -> Result<(), Box<dyn std::error::Error>> {
    let modern = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")
        .is_ok_and(|version| version == MODERN_VERSION);
    let oauth = OAuthClient::new(url.clone(), settings(), Arc::new(InMemoryLoginStore::default()))
        .with_agent(Arc::new(FollowsRedirect));
    let http = HttpConfig { url, oauth: Some(Arc::new(oauth)), ..HttpConfig::default() };
    let mut config = UpstreamConfig::new("conformance", Endpoint::Http(http));
    config.era = if modern { EraChoice::Modern } else { EraChoice::Legacy };
    config.client_capabilities = [
        ("elicitation".to_owned(), json!({ "form": { "applyDefaults": true } })),
        ("sampling".to_owned(), json!({})),
        ("roots".to_owned(), json!({})),
    ]
    .into_iter()
    .collect();
    config.request_handler = Some(RequestHandler::new(|request| {
        let answer = match request.method.as_str() {
            "elicitation/create" => elicited(&request.params),
            "roots/list" => json!({ "roots": [] }),
            _ => json!({ "role": "assistant", "model": "none", "stopReason": "endTurn",
                "content": { "type": "text", "text": "text" } }),
        };
        request.responder.answer(Ok(answer));
    }));
    let upstream = Upstream::new(config);
    let tools = upstream.list_tools().await?;
    for tool in &tools {
        for arguments in calls(tool, &tools) {
            let request = CallRequest::new(tool.name(), arguments);
            if let Err(error) = upstream.call(request.timeout(Duration::from_secs(20))).await {
                eprintln!("{}: {error}", tool.name());
            }
        }
    }
    upstream.close().await;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().next_back().ok_or("an address is missing")?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(run(url))
}
