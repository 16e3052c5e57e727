//! Tokens of issuers at the gateway's door: which count, as whom, and what everybody else is told.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};

use crate::client::initialize;
use crate::client_tokens;
use crate::http::{Answer, Web, people, request};
use crate::token_issuer::{SigningPair, TokenIssuer, seconds};

const RESOURCE: &str = "https://gate.example/mcp";

/// Reading needs a role, which scopes and groups give.
fn policy(issuer: &TokenIssuer, more: &str) -> String {
    format!(
        r#"
[principals."owner"]
roles = ["reader"]

[issuers.corp]
issuer = "{}"
groups = {{ "staff" = ["reader"] }}
scopes = {{ "tools:read" = ["reader"], "tools:none" = ["guest"] }}
{more}

[[rules]]
name = "reads"
match = {{ effects = {{ impact = "read" }} }}
require.roles = {{ any = ["reader"] }}
effect = "allow"
reason = "readers read"
"#,
        issuer.url
    )
}

/// A gateway in front of a server, and the issuer whose tokens it takes.
pub(crate) struct Gate {
    pub(crate) web: Web,
    pub(crate) issuer: TokenIssuer,
    key: SigningPair,
}

impl Gate {
    fn new(more_settings: &str, more_policy: &str) -> Self {
        Self::before(more_settings, more_policy, "")
    }

    /// The same with this said of the server.
    pub(crate) fn before(more_settings: &str, more_policy: &str, of_server: &str) -> Self {
        let (issuer, key) = (TokenIssuer::start(), SigningPair::ed25519(1));
        issuer.state().keys = vec![key.jwk("one")];
        let settings = format!(
            "hosts = [\"gate.example\"]\n[http.oauth]\nresource = \"{RESOURCE}\"\n{more_settings}\n\
             [mcpServers.kept]\nurl = \"{}/mcp\"\n{of_server}\n",
            issuer.url
        );
        let web = Web::prepared("good", &settings, Some(&policy(&issuer, more_policy)));
        Self { web, issuer, key }
    }

    fn claims(&self, change: &Value) -> Value {
        let mut claims = self.issuer.claims(RESOURCE);
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
    }

    /// A token as the issuer makes it, with these claims changed.
    pub(crate) fn token(&self, change: &Value) -> String {
        self.key
            .token(&json!({"alg": "EdDSA", "kid": "one", "typ": "at+jwt"}), &self.claims(change))
    }

    pub(crate) fn post(&self, token: &str, message: &Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", message["method"].as_str().unwrap()),
            ("mcp-name", message["params"]["name"].as_str().unwrap_or_default()),
        ];
        self.web.send("POST", "/mcp", &headers, &message.to_string())
    }

    /// What comes of a call with this token.
    fn call(&self, token: &str) -> Answer {
        let mut params = people();
        params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
        self.post(token, &request(1, "tools/call", params))
    }

    fn allowed(&self, token: &str) -> bool {
        let done = self.call(token);
        assert_eq!(done.status, 200, "{done:?}");
        done.json()["result"]["isError"] == false
    }

    fn refused(&self, token: &str) -> Answer {
        let refused = self.call(token);
        assert_eq!(refused.status, 401, "{token:.200}: {refused:?}");
        let challenge = &refused.headers["www-authenticate"];
        assert!(
            challenge.contains("invalid_token") && challenge.contains("resource_metadata="),
            "{challenge}"
        );
        refused
    }
}

#[test]
fn a_token_of_a_trusted_issuer_acts_with_the_roles_of_its_scopes_and_groups() {
    let gate = Gate::new("", "");
    assert!(gate.allowed(&gate.token(&json!({}))), "by its scope");
    assert!(gate.allowed(&gate.token(&json!({"scope": "x", "groups": ["staff"]}))), "by its group");
    let guest = gate.token(&json!({"scope": "tools:none"}));
    assert!(!gate.allowed(&guest), "a role that may not read");
    let nobody = gate.call(&gate.token(&json!({"scope": "other", "groups": ["other"]})));
    assert_eq!(nobody.status, 403, "{nobody:?}");
    let config = gate.web.config();
    let status = crate::support::weaver(&["status", "--config", &config, "--json"]).json();
    let sessions = status["sessions"].as_array().unwrap();
    assert!(sessions.iter().any(|session| session["principal"] == "corp:ana"), "{status}");
}

#[test]
fn a_client_without_a_token_is_told_where_to_get_one() {
    let gate = Gate::new("", "");
    let json = ("content-type", "application/json");
    let asked = gate.web.send("POST", "/mcp", &[json], "{}");
    assert_eq!(asked.status, 401);
    assert_eq!(
        asked.headers["www-authenticate"],
        "Bearer scope=\"tools:none tools:read\", \
         resource_metadata=\"https://gate.example/.well-known/oauth-protected-resource/mcp\""
    );
    for path in
        ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]
    {
        let told = gate.web.send("GET", path, &[], "");
        assert_eq!(told.status, 200, "{told:?}");
        let told = told.json();
        assert_eq!(told["resource"], RESOURCE);
        assert_eq!(told["authorization_servers"], json!([gate.issuer.url]));
        assert_eq!(told["scopes_supported"], json!(["tools:none", "tools:read"]));
        let elsewhere = gate.web.send("GET", path, &[("host", "evil.example")], "");
        assert_eq!(elsewhere.status, 403, "the host is looked at first");
    }
    let query = gate.web.send(
        "POST",
        &format!("/mcp?access_token={}", gate.token(&json!({}))),
        &[json],
        "{}",
    );
    assert_eq!(query.status, 401, "a token counts in its header alone");
}

#[test]
fn forged_replayed_and_misdirected_tokens_are_refused() {
    let gate = Gate::new("", "");
    let good = json!({"alg": "EdDSA", "kid": "one", "typ": "at+jwt"});
    let claims = gate.claims(&json!({}));
    let (other, curve) = (SigningPair::ed25519(2), SigningPair::p256());
    let unsigned = |header: Value| {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.", part(&header), part(&claims))
    };
    // The public key taken for the secret of an HMAC.
    let confused = {
        let signed = unsigned(json!({"alg": "HS256", "kid": "one"}));
        let key = hmac::Key::new(hmac::HMAC_SHA256, &gate.key.public());
        let tag = hmac::sign(&key, signed.trim_end_matches('.').as_bytes());
        format!("{signed}{}", URL_SAFE_NO_PAD.encode(tag))
    };
    let mut cut = gate.token(&json!({}));
    cut.replace_range(cut.len() - 4.., "AAAA");
    for (what, token) in [
        ("another key", other.token(&good, &claims)),
        ("a key of another kind under its name", curve.token(&good, &claims)),
        (
            "the algorithm of another key",
            gate.key.token(&json!({"alg": "ES256", "kid": "one"}), &claims),
        ),
        ("none", unsigned(json!({"alg": "none"}))),
        ("None", unsigned(json!({"alg": "None", "kid": "one"}))),
        ("an HMAC", confused),
        ("a changed signature", cut),
        ("another audience", gate.token(&json!({"aud": "https://other.example/mcp"}))),
        ("no audience", gate.token(&json!({"aud": null}))),
        ("another issuer", gate.token(&json!({"iss": "https://other.example"}))),
        ("expired", gate.token(&json!({"exp": seconds() - 120}))),
        ("no end", gate.token(&json!({"exp": null}))),
        ("not yet", gate.token(&json!({"nbf": seconds() + 600}))),
        ("nobody", gate.token(&json!({"sub": null}))),
        ("bound to a key", gate.token(&json!({"cnf": {"jkt": "x"}}))),
        (
            "an id token",
            gate.key.token(&json!({"alg": "EdDSA", "kid": "one", "typ": "logout+jwt"}), &claims),
        ),
        ("huge", gate.token(&json!({"x": "y".repeat(14_000)}))),
        ("no token", "eyJ.eyJ.eyJ".to_owned()),
        ("opaque, and nobody to ask", "opaque-token".to_owned()),
        ("ours, misspelt", "weaver_0000".to_owned()),
    ] {
        let refused = gate.refused(&token);
        assert!(!refused.body.contains(&token), "{what}: {refused:?}");
    }
    assert!(gate.allowed(&gate.token(&json!({"exp": seconds() - 5}))), "within the leeway");
    // What no known key signed could be of a key that the issuer has made since.
    for header in
        [json!({"alg": "EdDSA", "kid": "two"}), json!({"alg": "EdDSA", "jwk": other.jwk("one")})]
    {
        let waiting = gate.call(&other.token(&header, &claims));
        assert_eq!(waiting.status, 429, "{header}: {waiting:?}");
    }
}

#[test]
fn a_session_of_one_token_is_not_reached_with_another() {
    let gate = Gate::new("", "");
    let open = |token: &str, session: Option<&str>, message: &Value| {
        client_tokens::post(&gate.web, token, session, message)
    };
    let token = gate.token(&json!({}));
    let opened = open(&token, None, &request(1, "initialize", initialize()));
    let id = opened.headers["mcp-session-id"].clone();
    let ping = request(2, "ping", json!({}));
    assert_eq!(open(&token, Some(&id), &ping).status, 200);
    let fresh = gate.token(&json!({"exp": seconds() + 400}));
    assert_eq!(open(&fresh, Some(&id), &ping).status, 200, "a fresh token of the same login");
    for other in [
        json!({"sub": "eve"}),
        json!({"client_id": "other"}),
        json!({"scope": "tools:read tools:none"}),
    ] {
        assert_eq!(open(&gate.token(&other), Some(&id), &ping).status, 404, "{other}");
    }
}

#[test]
fn without_the_keys_of_the_issuer_nobody_comes_in_and_is_told_why() {
    let gate = Gate::new("", "");
    gate.issuer.state().down = true;
    let token = gate.token(&json!({}));
    let closed = gate.call(&token);
    assert_eq!(closed.status, 503, "{closed:?}");
    assert!(closed.body.contains("cannot be checked now"), "{closed:?}");
    // It is a server of the gateway too, which connects when it likes.
    let asked = || {
        let mut asked = gate.issuer.state().asked.clone();
        asked.retain(|request| !request.contains(" /mcp "));
        asked
    };
    let before = asked();
    for _ in 0..5 {
        assert_eq!(gate.call(&token).status, 503);
    }
    assert_eq!(asked(), before, "it is left alone for a moment");
    assert_eq!(gate.web.post(&[], &request(1, "initialize", initialize())).status, 200, "ours");
}

/// An issuer may have made a key since its keys were fetched: a client that is told that its token
/// is invalid throws it away.
#[test]
fn keys_are_fetched_once_and_a_token_of_an_unknown_one_waits() {
    let gate = Gate::new("", "");
    let by_unknown = |name: &str| {
        let header = json!({"alg": "EdDSA", "kid": name});
        gate.key.token(&header, &gate.claims(&json!({})))
    };
    gate.refused(&by_unknown("first")); // The keys were fetched for this very token.
    assert!(gate.allowed(&gate.token(&json!({}))) && gate.allowed(&gate.token(&json!({}))));
    for name in ["a", "b", "first"] {
        let waiting = gate.call(&by_unknown(name));
        assert_eq!(waiting.status, 429, "{waiting:?}");
        let seconds: u64 = waiting.headers["retry-after"].parse().unwrap();
        assert!((1..=30).contains(&seconds), "{seconds}");
        assert!(!waiting.headers.contains_key("www-authenticate"), "{waiting:?}");
    }
    let log = gate.web.folder().path(".weaver/ledger.db.run/daemon.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("until they are fetched again").count(), 1, "{log}");
    let elsewhere = gate.token(&json!({"iss": "http://127.0.0.1:1"}));
    gate.refused(&elsewhere);
    assert_eq!(gate.issuer.count("/keys"), 1);
}

#[test]
fn scopes_that_are_missing_are_named_in_one_challenge() {
    let gate = Gate::new("", "required_scopes = [\"weaver\", \"tools:read\"]\n");
    let refused = gate.call(&gate.token(&json!({})));
    assert_eq!(refused.status, 403, "{refused:?}");
    let challenge = &refused.headers["www-authenticate"];
    assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
    assert!(challenge.contains("scope=\"tools:read weaver\""), "{challenge}");
    assert!(gate.allowed(&gate.token(&json!({"scope": "weaver tools:read"}))));
    // A client asks for what the challenge names, and must not lose what it has.
    let refused = gate.call(&gate.token(&json!({"scope": "extra weaver", "groups": ["staff"]})));
    let challenge = &refused.headers["www-authenticate"];
    assert!(challenge.contains("scope=\"extra tools:read weaver\""), "{challenge}");
}

#[test]
fn a_token_without_a_role_is_told_which_scopes_give_one() {
    let gate = Gate::new("", "");
    let refused = gate.call(&gate.token(&json!({"scope": "other", "groups": ["other"]})));
    assert_eq!(refused.status, 403, "{refused:?}");
    let challenge = &refused.headers["www-authenticate"];
    assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
    assert!(challenge.contains("scope=\"other tools:none tools:read\""), "{challenge}");
    assert!(challenge.contains("resource_metadata="), "{challenge}");
}

#[test]
fn a_subject_that_the_policy_names_acts_as_its_principal() {
    let gate = Gate::new("", "subjects = { \"ana\" = \"owner\" }\n");
    assert!(gate.allowed(&gate.token(&json!({"scope": "nothing"}))));
    let config = gate.web.config();
    let status = crate::support::weaver(&["status", "--config", &config, "--json"]).json();
    let sessions = status["sessions"].as_array().unwrap();
    let http = sessions.iter().find(|one| one["label"] == "http owner").unwrap();
    assert_eq!(http["principal"], "owner", "{status}");
}

#[test]
fn opaque_tokens_are_introspected() {
    let secret = "[http.oauth.introspection.corp]\nclient_id = \"gate\"\n\
                  client_secret = { command = [\"echo\", \"hunter2-hunter2\"] }";
    let gate = Gate::new(secret, "");
    let good = json!({"active": true, "sub": "ana", "aud": RESOURCE, "scope": "tools:read",
        "exp": seconds() + 300, "token_type": "Bearer"});
    let mut answers = vec![
        ("opaque-good", good.clone()),
        ("opaque-dead", json!({"active": false})),
        ("opaque-words", json!({"active": "true", "sub": "ana", "aud": RESOURCE})),
    ];
    for (name, change) in [
        ("opaque-aud", json!({"aud": "https://other.example/mcp"})),
        ("opaque-none", json!({"aud": null})),
        ("opaque-iss", json!({"iss": "https://other.example"})),
        ("opaque-dpop", json!({"token_type": "DPoP"})),
        ("opaque-exp", json!({"exp": seconds() - 300})),
        ("opaque-sub", json!({"sub": null})),
        ("opaque-user", json!({"sub": null, "username": "ana"})),
    ] {
        let mut answer = good.clone();
        for (key, value) in change.as_object().unwrap() {
            answer[key] = value.clone();
        }
        answers.push((name, answer));
    }
    let names: Vec<&str> = answers.iter().map(|(name, _)| *name).skip(1).collect();
    gate.issuer.state().introspected =
        answers.iter().map(|(name, answer)| ((*name).to_owned(), answer.clone())).collect();
    assert!(gate.allowed("opaque-good") && gate.allowed("opaque-good"));
    assert_eq!(gate.issuer.count("/introspect"), 1, "good news is believed for a moment");
    for name in names {
        gate.refused(name);
    }
    gate.refused("opaque-unknown");
    // A machine client's token: the issuer names no user.
    let mut machine = good;
    machine.as_object_mut().unwrap().remove("sub");
    machine["client_id"] = json!("ci");
    gate.issuer.state().introspected.insert("opaque-machine".to_owned(), machine);
    assert!(gate.allowed("opaque-machine"));
    let status = gate.web.weaver(&["status", "--json"]);
    assert!(status.out.contains("corp:ci"), "{}", status.out);
    let asked = gate.issuer.state().asked.clone();
    let basic = format!(
        "Basic {}",
        base64::engine::general_purpose::STANDARD.encode("gate:hunter2-hunter2")
    );
    let introspections: Vec<_> =
        asked.iter().filter(|asked| asked.contains("/introspect")).collect();
    assert!(introspections.iter().all(|asked| asked.contains(&basic)), "{introspections:?}");
}

#[test]
fn an_issuer_that_cannot_be_reached_keeps_no_token_of_another_from_being_introspected() {
    let away = TokenIssuer::start();
    away.state().down = true;
    let clients = ["away", "corp"].map(|issuer| {
        format!(
            "[http.oauth.introspection.{issuer}]\nclient_id = \"gate\"\n\
             client_secret = {{ command = [\"echo\", \"hunter2-hunter2\"] }}\n"
        )
    });
    let more =
        format!("[issuers.away]\nissuer = \"{}\"\ngroups = {{ staff = [\"reader\"] }}\n", away.url);
    let gate = Gate::new(&clients.concat(), &more);
    let good = json!({"active": true, "sub": "ana", "aud": RESOURCE, "scope": "tools:read",
        "exp": seconds() + 300});
    gate.issuer.state().introspected = [("opaque-good".to_owned(), good)].into();
    assert!(gate.allowed("opaque-good"));
    assert!(!away.state().asked.is_empty(), "it was tried first");
    let unknown = gate.call("opaque-unknown");
    assert_eq!(unknown.status, 503, "it may be a token of the other issuer: {unknown:?}");
}

#[test]
fn a_refused_token_that_comes_again_is_not_introspected_again() {
    let secret = "[http.oauth.introspection.corp]\nclient_id = \"gate\"\n\
                  client_secret = { command = [\"echo\", \"hunter2-hunter2\"] }";
    let gate = Gate::new(secret, "");
    for token in ["opaque-dead", "opaque-dead", "opaque-other", "opaque-dead"] {
        gate.refused(token);
    }
    assert_eq!(gate.issuer.count("/introspect"), 2, "once for each token");
}

/// Anybody can make up tokens.
#[test]
fn made_up_tokens_start_no_program_each() {
    let folder = tempfile::tempdir().unwrap();
    let reads = folder.path().join("reads");
    let script = format!("echo x >> '{}'; echo hunter2-hunter2", reads.display());
    let secret = format!(
        "[http.oauth.introspection.corp]\nclient_id = \"gate\"\n\
         client_secret = {{ command = [\"sh\", \"-c\", {script:?}] }}"
    );
    let gate = Gate::new(&secret, "");
    for token in ["opaque-1", "opaque-2", "opaque-3"] {
        gate.refused(token);
    }
    assert_eq!(gate.issuer.count("/introspect"), 3);
    assert_eq!(std::fs::read_to_string(reads).unwrap().lines().count(), 1);
}

#[test]
fn a_token_of_an_issuer_that_the_policy_does_not_have_is_refused_and_the_log_says_why() {
    let secret = "[http.oauth.introspection.gone]\nclient_id = \"gate\"\n\
                  client_secret = { command = [\"echo\", \"hunter2-hunter2\"] }";
    let gate = Gate::new(secret, "");
    let refused = gate.refused("opaque-good");
    assert!(refused.body.contains("the policy does not trust its issuer"), "{refused:?}");
    assert_eq!(gate.issuer.count("/introspect"), 0);
    let log = gate.web.folder().path(".weaver/ledger.db.run/daemon.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("the policy has no issuer of this name") && log.contains("gone"), "{log}");
}

/// Token passthrough: the protocol forbids it, and so does everything here.
#[test]
fn no_server_ever_sees_the_token_of_a_client() {
    let gate = Gate::new("", "");
    let token = gate.token(&json!({}));
    let mut params = json!({ "name": "tool_execute", "arguments": { "capability": "kept.say", "arguments": {} } });
    params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let done = gate.post(&token, &request(1, "tools/call", params));
    assert!(done.body.contains("said"), "{done:?}");
    let asked = gate.issuer.state().asked.clone();
    let called: Vec<_> = asked.iter().filter(|asked| asked.contains("tools/call")).collect();
    assert_eq!(called.len(), 1);
    for asked in &asked {
        assert!(!asked.contains(&token), "{asked}");
        assert!(!asked.starts_with("POST /mcp") || !asked.to_lowercase().contains("authorization"));
    }
}

/// "All of the team get 401" and "somebody guesses" are told apart.
#[test]
fn refused_tokens_of_an_issuer_are_counted_by_reason_and_logged_with_whose_they_claim_to_be() {
    let gate = Gate::new("", "");
    gate.refused(&gate.token(&json!({ "aud": "https://other.example/mcp" })));
    gate.refused(&gate.token(&json!({ "exp": seconds() - 600, "iat": seconds() - 900 })));
    gate.refused(&gate.token(&json!({ "iss": "https://evil.example", "sub": "mallory\nx" })));
    let forged = SigningPair::ed25519(2);
    let header = json!({"alg": "EdDSA", "kid": "one", "typ": "at+jwt"});
    gate.refused(&forged.token(&header, &gate.claims(&json!({}))));
    let without_role = gate.call(&gate.token(&json!({ "scope": "x" })));
    assert_eq!(without_role.status, 403, "{without_role:?}");
    let metrics = gate.web.get("/metrics");
    for reason in ["audience", "expired_token", "issuer", "signature", "scope"] {
        let line = format!("weaver_http_refused_total{{reason=\"{reason}\"}} 1");
        assert!(metrics.lines().any(|told| told == line), "{line}: {metrics}");
    }
    let log = gate.web.weaver(&["logs"]).out;
    let refused: Vec<&str> = log.lines().filter(|line| line.contains("was refused")).collect();
    assert_eq!(refused.len(), 5, "{log}");
    let evil = refused.iter().find(|line| line.contains("evil.example")).unwrap();
    assert!(evil.contains("mallory") && evil.contains("127.0.0.1:"), "{evil}");
}
