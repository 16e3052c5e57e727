//! An issuer of access tokens on this machine, with keys of its own; and, under `/mcp`, a server that
//! keeps what it was sent.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};
use weaver_types::{Clock as _, SystemClock};

/// An issuer that runs as long as the test.
#[derive(Clone)]
pub(crate) struct TokenIssuer {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

/// What it answers with, and what it was asked.
#[derive(Default)]
pub(crate) struct State {
    /// Its public keys.
    pub(crate) keys: Vec<Value>,
    /// It answers nothing but an error.
    pub(crate) down: bool,
    /// What it says of opaque tokens.
    pub(crate) introspected: BTreeMap<String, Value>,
    /// The tokens of which `/mcp` wants one, where there are any; whoever logs in gets the last.
    pub(crate) tokens: Vec<String>,
    /// The requests as they came: head and body.
    pub(crate) asked: Vec<String>,
}

/// A key that signs.
pub(crate) enum SigningPair {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
}

fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn seconds() -> i64 {
    SystemClock::default().now().micros() / 1_000_000
}

impl SigningPair {
    pub(crate) fn ed25519(seed: u8) -> Self {
        Self::Ed25519(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap())
    }

    pub(crate) fn p256() -> Self {
        let (how, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(how, document.as_ref(), &random).unwrap())
    }

    pub(crate) fn public(&self) -> Vec<u8> {
        match self {
            Self::Ed25519(pair) => pair.public_key().as_ref().to_vec(),
            Self::P256(pair) => pair.public_key().as_ref().to_vec(),
        }
    }

    /// Its public half as an issuer shows it.
    pub(crate) fn jwk(&self, id: &str) -> Value {
        let public = self.public();
        match self {
            Self::Ed25519(_) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": base64(public), "kid": id})
            }
            Self::P256(_) => json!({"kty": "EC", "crv": "P-256", "kid": id, "use": "sig",
                "x": base64(&public[1..33]), "y": base64(&public[33..])}),
        }
    }

    fn sign(&self, text: &str) -> Vec<u8> {
        match self {
            Self::Ed25519(pair) => pair.sign(text.as_bytes()).as_ref().to_vec(),
            Self::P256(pair) => {
                pair.sign(&SystemRandom::new(), text.as_bytes()).unwrap().as_ref().to_vec()
            }
        }
    }

    /// A token with this header and these claims, signed whatever the header says.
    pub(crate) fn token(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
        let signature = base64(self.sign(&signed));
        format!("{signed}.{signature}")
    }
}

impl TokenIssuer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let issuer = Self { url, state: Arc::default() };
        let serving = issuer.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let issuer = serving.clone();
                std::thread::spawn(move || issuer.serve(stream));
            }
        });
        issuer
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The claims of a token that counts.
    pub(crate) fn claims(&self, audience: &str) -> Value {
        json!({"iss": self.url, "aud": audience, "sub": "ana", "client_id": "desk",
            "exp": seconds() + 300, "iat": seconds(), "scope": "tools:read"})
    }

    /// How often something was asked for.
    pub(crate) fn count(&self, path: &str) -> usize {
        let start = |asked: &&String| asked.split(' ').nth(1) == Some(path);
        self.state().asked.iter().filter(start).count()
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if !matches!(reader.read_line(&mut head), Ok(read) if read > 0) {
                    return;
                }
            }
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
            });
            let mut body = vec![0; length.unwrap_or(0)];
            if reader.read_exact(&mut body).is_err() {
                return;
            }
            let body = String::from_utf8(body).unwrap();
            self.state().asked.push(format!("{head}{body}"));
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let (status, answer) = match self.caller(&head) {
                Some(caller) if path == "/mcp" => mcp(&body, caller),
                None if path == "/mcp" => (401, json!({})),
                _ => self.answer(&path, &body),
            };
            let answer = answer.to_string();
            let sent = write!(
                stream,
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            );
            if sent.is_err() {
                return;
            }
        }
    }

    /// Which of the wanted tokens a request has, from 1 on; 0 where none is wanted.
    fn caller(&self, head: &str) -> Option<usize> {
        let state = self.state();
        let has = |token: &String| head.contains(&format!("Bearer {token}\r\n"));
        match state.tokens.is_empty() {
            true => Some(0),
            false => state.tokens.iter().position(has).map(|at| at + 1),
        }
    }

    fn answer(&self, path: &str, body: &str) -> (u16, Value) {
        let state = self.state();
        match path {
            _ if state.down => (500, json!({"error": "server_error"})),
            "/.well-known/oauth-authorization-server" => (
                200,
                json!({"issuer": self.url, "jwks_uri": format!("{}/keys", self.url),
                    "introspection_endpoint": format!("{}/introspect", self.url),
                    "authorization_endpoint": format!("{}/authorize", self.url),
                    "token_endpoint": format!("{}/token", self.url),
                    "registration_endpoint": format!("{}/register", self.url),
                    "token_endpoint_auth_methods_supported": ["none"],
                    "code_challenge_methods_supported": ["S256"]}),
            ),
            "/.well-known/oauth-protected-resource/mcp" => (
                200,
                json!({"resource": format!("{}/mcp", self.url), "authorization_servers": [self.url]}),
            ),
            "/register" => (201, json!({"client_id": "registered"})),
            "/token" => (
                200,
                json!({"access_token": state.tokens.last(), "token_type": "Bearer", "expires_in": 3600,
                    "refresh_token": "refresh-hunter2-hunter2"}),
            ),
            "/keys" => (200, json!({ "keys": state.keys })),
            "/introspect" => {
                let token = body.split('&').find_map(|pair| pair.strip_prefix("token="));
                let known = state.introspected.get(token.unwrap_or_default());
                (200, known.cloned().unwrap_or_else(|| json!({"active": false})))
            }
            _ => (404, json!({})),
        }
    }
}

/// A server with one tool, and a paper for each caller.
fn mcp(body: &str, caller: usize) -> (u16, Value) {
    let message: Value = serde_json::from_str(body).unwrap_or_default();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "kept", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "say", "description": "Says something.",
            "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": format!("said to {caller}")}]}),
        "resources/list" => json!({"resources": [{"uri": format!("kept://papers/{caller}"),
            "name": format!("paper of {caller}")}]}),
        "resources/templates/list" => json!({"resourceTemplates": []}),
        _ => return (202, json!({})),
    };
    (200, json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}
