//! What `cargo xtask conformance` drives as a client: connects to the server at the address that
//! stands last on its command line, logs in where that is asked for, lists the tools and calls each.
//!
//! The authorization servers of the suite ask nobody: they answer with the redirect at once.

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Map, Value, json};
use weaver_drivers::http::{Secret, SecretError, SecretProvider};
use weaver_drivers::mcp::{
    CallRequest, Endpoint, EraChoice, HttpConfig, MODERN_VERSION, RequestHandler, Upstream,
    UpstreamConfig,
};
use weaver_drivers::oauth::{
    AuthorizationAgent, DevicePrompt, MemoryLogins, OAuthClient, OAuthError, OAuthSettings,
};
use weaver_types::BoxFuture;
use zeroize::Zeroizing;

/// The document about this client that the suite expects.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

struct FollowsRedirect;

impl AuthorizationAgent for FollowsRedirect {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:3000/callback".to_owned()
    }

    fn authorize(&self, address: Url) -> BoxFuture<'_, Result<Url, OAuthError>> {
        let followed = location(&address)
            .and_then(|to| address.join(&to).map_err(io::Error::other))
            .map_err(|_| OAuthError::Unfinished("there was no redirect"));
        Box::pin(std::future::ready(followed))
    }

    fn show_code(&self, _: &DevicePrompt) {}
}

/// Where a plain HTTP address redirects to.
fn location(address: &Url) -> io::Result<String> {
    let (host, port) = (address.host_str().unwrap_or_default(), address.port().unwrap_or(80));
    let mut stream = TcpStream::connect((host, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let target = address.as_str().splitn(4, '/').nth(3).unwrap_or_default();
    write!(stream, "GET /{target} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(64 * 1024).read_to_string(&mut answer)?;
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    };
    answer.lines().find_map(header).ok_or_else(|| io::Error::other("no redirect"))
}

struct FixedSecret(String);

impl SecretProvider for FixedSecret {
    fn secret(&self) -> BoxFuture<'_, Result<Secret, SecretError>> {
        Box::pin(std::future::ready(Secret::new(Zeroizing::new(self.0.clone()))))
    }
}

fn settings() -> OAuthSettings {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let text = |key: &str| context.get(key).and_then(Value::as_str).map(str::to_owned);
    let secret = text("client_secret").map(|secret| Arc::new(FixedSecret(secret)) as _);
    OAuthSettings {
        client_name: "Weaver".to_owned(),
        client_id: text("client_id"),
        client_secret: secret,
        client_metadata_url: Some(DOCUMENT.to_owned()),
        scopes: BTreeSet::new(),
        authority: None,
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
    let oauth = OAuthClient::new(url.clone(), settings(), Arc::new(MemoryLogins::default()))
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
    for tool in upstream.list_tools().await? {
        let request = CallRequest::new(tool.name(), arguments(tool.value()));
        if let Err(error) = upstream.call(request.timeout(Duration::from_secs(20))).await {
            eprintln!("{}: {error}", tool.name());
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
