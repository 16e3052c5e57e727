//! A small authorization server and an MCP server that takes its tokens, both of which misbehave on
//! request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use weaver_drivers::oauth::{AuthorizationAgent, DevicePrompt, OAuthError, Url};
use weaver_types::BoxFuture;

/// How the servers behave, and what they were asked.
#[derive(Default)]
pub(crate) struct OAuthServerState {
    pub(crate) url: String,
    /// Replaces or, with null, removes fields of the metadata of the authorization server.
    pub(crate) metadata: Value,
    /// The metadata of the resource likewise.
    pub(crate) resource: Value,
    /// The scope that the server asks for with 403 until a token has it.
    pub(crate) scope: Option<String>,
    /// Parameters of the redirect, replaced or removed likewise.
    pub(crate) redirect: Value,
    /// How long access tokens live, in seconds.
    pub(crate) life: Option<u64>,
    /// Fails refreshes with this status and body.
    pub(crate) refresh_failure: Option<(u16, Value)>,
    /// Fails the next so many questions for a device code as pending, the last but one for a passing
    /// reason.
    pub(crate) pending: usize,
    /// Tokens are bound to a key, and proofs of it must hold this.
    pub(crate) nonce: Option<&'static str>,
    /// Access tokens are given with this type, whatever was shown.
    pub(crate) token_type: Option<&'static str>,
    /// The public key of the client, by which its assertions are verified.
    pub(crate) client_key: Option<Vec<u8>>,
    /// The assertions that are exchanged for tokens.
    pub(crate) assertions: Vec<String>,
    /// The keys that tokens are bound to, by token.
    pub(crate) keys: BTreeMap<String, String>,
    /// The id of each proof and assertion.
    pub(crate) ids: BTreeSet<String>,
    /// The access tokens in force, with their scopes.
    pub(crate) tokens: BTreeMap<String, String>,
    /// The refresh token in force.
    pub(crate) refresh: Option<String>,
    /// The key that the last tokens are bound to.
    pub(crate) refresh_key: Option<String>,
    /// A refresh token that was used twice.
    pub(crate) reused: bool,
    codes: BTreeMap<String, BTreeMap<String, String>>,
    count: usize,
    /// Every request: method, path, and form or query.
    pub(crate) asked: Vec<(String, BTreeMap<String, String>)>,
    /// The `Authorization` headers that the MCP server got.
    pub(crate) bearers: Vec<String>,
}

pub(crate) type Shared = Arc<Mutex<OAuthServerState>>;

/// Starts both on one port.
pub(crate) async fn start() -> Shared {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let stage = OAuthServerState { url, life: Some(3600), ..OAuthServerState::default() };
    let shared = Arc::new(Mutex::new(stage));
    let router = axum::Router::new().fallback(handle).with_state(Arc::clone(&shared));
    tokio::spawn(async move { axum::serve(listener, router).await });
    shared
}

fn changed(mut value: Value, change: &Value) -> Value {
    let fields = value.as_object_mut().unwrap();
    for (key, new) in change.as_object().into_iter().flatten() {
        match new {
            Value::Null => drop(fields.remove(key)),
            new => drop(fields.insert(key.clone(), new.clone())),
        }
    }
    value
}

pub(crate) fn form(text: &str) -> BTreeMap<String, String> {
    let url = Url::parse(&format!("http://x/?{text}")).unwrap();
    url.query_pairs().map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
}

pub(crate) fn say(status: u16, value: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, [("content-type", "application/json")], value.to_string()).into_response()
}

async fn handle(
    State(shared): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut stage = shared.lock().unwrap();
    let (path, body) = (uri.path().to_owned(), String::from_utf8(body.to_vec()).unwrap());
    let given = match (path.as_str(), method) {
        ("/mcp" | "/register", _) => BTreeMap::new(),
        (_, Method::GET) => form(uri.query().unwrap_or_default()),
        _ => form(&body),
    };
    stage.asked.push((path.clone(), given.clone()));
    stage.answer(&path, &given, &headers, &body)
}

impl OAuthServerState {
    fn answer(
        &mut self,
        path: &str,
        given: &BTreeMap<String, String>,
        headers: &HeaderMap,
        body: &str,
    ) -> Response {
        let url = self.url.clone();
        match path {
            "/mcp" => self.mcp(headers, body),
            "/.well-known/oauth-protected-resource/mcp" => {
                let metadata = json!({"resource": format!("{url}/mcp"),
                    "authorization_servers": [url], "scopes_supported": ["basic"]});
                say(200, &changed(metadata, &self.resource))
            }
            "/.well-known/oauth-authorization-server" => {
                let metadata = json!({"issuer": url,
                    "authorization_endpoint": format!("{url}/authorize"),
                    "token_endpoint": format!("{url}/token"),
                    "registration_endpoint": format!("{url}/register"),
                    "device_authorization_endpoint": format!("{url}/device"),
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                    "authorization_response_iss_parameter_supported": true});
                say(200, &changed(metadata, &self.metadata))
            }
            "/register" => {
                let asked: Value = serde_json::from_str(body).unwrap();
                assert_eq!(asked["application_type"], "native");
                say(
                    201,
                    &json!({"client_id": format!("registered-{}", self.next()),
                    "redirect_uris": asked["redirect_uris"]}),
                )
            }
            "/device" => say(
                200,
                &json!({"device_code": "device-code", "user_code": "ABCD",
                "verification_uri": format!("{url}/type"), "interval": 0, "expires_in": 60}),
            ),
            "/token" => self.bound_token(given, headers),
            _ => say(404, &json!({})),
        }
    }

    fn next(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    /// What a browser does: a person agrees at once.
    pub(crate) fn agree(&mut self, address: &Url) -> Url {
        let given = form(address.query().unwrap_or_default());
        self.asked.push(("/authorize".to_owned(), given.clone()));
        let code = format!("code-{}", self.next());
        let query = json!({"code": code, "state": given["state"], "iss": self.url});
        self.codes.insert(code, given.clone());
        let mut back = Url::parse(&given["redirect_uri"]).unwrap();
        for (key, value) in changed(query, &self.redirect).as_object().unwrap() {
            back.query_pairs_mut().append_pair(key, value.as_str().unwrap());
        }
        back
    }

    pub(crate) fn token(&mut self, given: &BTreeMap<String, String>, kind: &str) -> Response {
        let refused = |error: &str| say(400, &json!({ "error": error }));
        let url = self.url.clone();
        if given.get("resource").is_none_or(|resource| *resource != format!("{}/mcp", self.url)) {
            return refused("invalid_target");
        }
        match given["grant_type"].as_str() {
            "authorization_code" => {
                let Some(asked) = self.codes.remove(&given["code"]) else {
                    return refused("invalid_grant");
                };
                let challenge = crate::oauth::challenge_of(&given["code_verifier"]);
                if challenge != asked["code_challenge"]
                    || given["redirect_uri"] != asked["redirect_uri"]
                {
                    return refused("invalid_grant");
                }
                self.grant(asked.get("scope").cloned().unwrap_or_default(), kind)
            }
            "refresh_token" => {
                if let Some((status, body)) = &self.refresh_failure {
                    return say(*status, body);
                }
                if self.refresh.as_ref() != Some(&given["refresh_token"]) {
                    // RFC 9700: a token that comes twice ends the whole family.
                    self.reused = true;
                    self.tokens.clear();
                    self.refresh = None;
                    return refused("invalid_grant");
                }
                let scope = self.tokens.values().next_back().cloned().unwrap_or_default();
                self.grant(scope, kind)
            }
            // No refresh token comes with it (RFC 6749 §4.4.3).
            "client_credentials"
                if given.get("client_secret").is_some_and(|secret| secret == "service-secret")
                    || self.is_client(given) =>
            {
                self.grant_without_refresh(given.get("scope").cloned().unwrap_or_default(), kind)
            }
            "client_credentials" => refused("invalid_client"),
            "urn:ietf:params:oauth:grant-type:jwt-bearer" => {
                match self.assertions.contains(&given["assertion"]) {
                    true => self.grant_without_refresh(String::new(), kind),
                    false => refused("invalid_grant"),
                }
            }
            "urn:ietf:params:oauth:grant-type:token-exchange" => {
                assert_eq!(given["audience"], url, "for one authorization server");
                let jag = format!("id.jag.{}", self.next());
                self.assertions.push(jag.clone());
                say(
                    200,
                    &json!({"access_token": jag, "token_type": "N_A",
                    "issued_token_type": self.token_type
                        .unwrap_or("urn:ietf:params:oauth:token-type:id-jag")}),
                )
            }
            _ if self.pending > 0 => {
                self.pending -= 1;
                match self.pending {
                    1 => say(503, &json!({})),
                    _ => refused("authorization_pending"),
                }
            }
            _ => self.grant("basic".to_owned(), kind),
        }
    }

    fn grant_without_refresh(&mut self, scope: String, kind: &str) -> Response {
        let token = format!("token-{}", self.next());
        self.tokens = BTreeMap::from([(token.clone(), scope.clone())]);
        let answer = json!({"access_token": token, "token_type": kind,
            "scope": scope, "expires_in": self.life});
        say(200, &answer)
    }

    fn grant(&mut self, scope: String, kind: &str) -> Response {
        let (token, refresh) =
            (format!("token-{}", self.next()), format!("refresh-{}", self.next()));
        self.tokens.clear();
        self.tokens.insert(token.clone(), scope.clone());
        self.refresh = Some(refresh.clone());
        let mut answer = json!({"access_token": token, "token_type": kind,
            "refresh_token": refresh, "scope": scope});
        if let Some(life) = self.life {
            answer["expires_in"] = json!(life);
        }
        say(200, &answer)
    }

    fn mcp(&mut self, headers: &HeaderMap, body: &str) -> Response {
        let bearer = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
        self.bearers.extend(bearer.clone());
        if let Some(refused) = self.unproven(headers, bearer.as_deref()) {
            return refused;
        }
        let scheme = if self.nonce.is_some() { "DPoP " } else { "Bearer " };
        let token = bearer.as_deref().and_then(|bearer| bearer.strip_prefix(scheme));
        let scope = token.and_then(|token| self.tokens.get(token));
        let Some(scope) = scope else {
            let challenge = format!(
                "Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"",
                self.url
            );
            return (StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)]).into_response();
        };
        let message: Value = serde_json::from_str(body).unwrap_or_default();
        if message["method"] == "tools/call"
            && let Some(wanted) = &self.scope
            && !scope.split(' ').any(|scope| scope == wanted)
        {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{wanted}\"");
            return (StatusCode::FORBIDDEN, [("www-authenticate", challenge)]).into_response();
        }
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "stage", "version": "1"}}),
            "tools/list" => json!({"tools": [{"name": "say", "inputSchema": {"type": "object"}}]}),
            "tools/call" => json!({"content": []}),
            _ => return StatusCode::ACCEPTED.into_response(),
        };
        say(200, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    }
}

/// A person who agrees to everything at once.
pub(crate) struct ConsentingUser {
    pub(crate) stage: Shared,
    pub(crate) shown: Mutex<Vec<DevicePrompt>>,
}

impl AuthorizationAgent for ConsentingUser {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:9/callback".to_owned()
    }

    fn authorize(&self, address: Url) -> BoxFuture<'_, Result<Url, OAuthError>> {
        let back = self.stage.lock().unwrap().agree(&address);
        Box::pin(std::future::ready(Ok(back)))
    }

    fn show_code(&self, prompt: &DevicePrompt) {
        self.shown.lock().unwrap().push(prompt.clone());
    }
}
