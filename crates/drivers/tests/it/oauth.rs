//! Logins at MCP servers, from the first 401 to the last refresh.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};
use weaver_drivers::http::{Secret, SecretError, SecretProvider};
use weaver_drivers::mcp::{CallRequest, Endpoint, HttpConfig, McpError, Upstream, UpstreamConfig};
use weaver_drivers::oauth::{GrantType, InMemoryLoginStore, OAuthClient, OAuthSettings};
use weaver_types::{BoxFuture, Clock, Timestamp};

use crate::oauth_server::{ConsentingUser, Shared, start};

pub(crate) fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

pub(crate) struct SettableClock(Mutex<i64>);

impl Clock for SettableClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(*self.0.lock().unwrap())
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Who logs in, with what, and at what time.
pub(crate) struct Trial {
    pub(crate) stage: Shared,
    logins: InMemoryLoginStore,
    clock: Arc<SettableClock>,
    pub(crate) settings: OAuthSettings,
}

impl Trial {
    pub(crate) async fn new() -> Self {
        let clock = Arc::new(SettableClock(Mutex::new(1_800_000_000_000_000)));
        let (stage, logins) = (start().await, InMemoryLoginStore::default());
        Self { stage, logins, clock, settings: OAuthSettings::default() }
    }

    pub(crate) fn wait(&self, seconds: i64) {
        *self.clock.0.lock().unwrap() += seconds * 1_000_000;
    }

    pub(crate) fn client(&self) -> OAuthClient {
        let url = format!("{}/mcp", self.stage.lock().unwrap().url);
        OAuthClient::new(url, self.settings.clone(), Arc::new(self.logins.clone()))
            .with_clock(Arc::clone(&self.clock) as Arc<dyn Clock>)
    }

    pub(crate) fn person(&self) -> OAuthClient {
        let agent = ConsentingUser { stage: Arc::clone(&self.stage), shown: Mutex::default() };
        self.client().with_agent(Arc::new(agent))
    }

    pub(crate) fn upstream(&self, client: OAuthClient) -> Upstream {
        let url = format!("{}/mcp", self.stage.lock().unwrap().url);
        let http = HttpConfig { url, oauth: Some(Arc::new(client)), ..HttpConfig::default() };
        Upstream::new(UpstreamConfig::new("stage", Endpoint::Http(http)))
    }

    /// What was asked for at this path.
    pub(crate) fn asked(&self, path: &str) -> Vec<BTreeMap<String, String>> {
        let stage = self.stage.lock().unwrap();
        let there = stage.asked.iter().filter(|(at, _)| at == path);
        there.map(|(_, given)| given.clone()).collect()
    }
}

pub(crate) fn code(error: McpError) -> &'static str {
    assert!(error.is_unsent(), "{error:?}");
    error.code()
}

#[tokio::test]
async fn a_person_logs_in_once_and_the_token_is_bound_to_the_server() {
    let trial = Trial::new().await;
    let upstream = trial.upstream(trial.person());
    assert_eq!(upstream.list_tools().await.unwrap().len(), 1);
    upstream.call(CallRequest::new("say", Map::new())).await.unwrap();
    let authorized = trial.asked("/authorize");
    assert_eq!(authorized.len(), 1);
    let resource = format!("{}/mcp", trial.stage.lock().unwrap().url);
    assert_eq!(authorized[0]["resource"], resource);
    assert_eq!(authorized[0]["code_challenge_method"], "S256");
    assert_eq!(authorized[0]["scope"], "basic");
    assert_eq!(trial.asked("/token")[0]["resource"], resource);
    // A gateway without a person uses the login.
    let other = trial.upstream(trial.client());
    assert_eq!(other.list_tools().await.unwrap().len(), 1);
    assert_eq!(trial.asked("/authorize").len(), 1);
}

/// A gateway that nobody sits in front of.
#[tokio::test]
async fn a_client_gets_tokens_for_itself_by_its_secret() {
    let mut trial = Trial::new().await;
    // Nobody is redirected, so no proof of a code is needed.
    trial.stage.lock().unwrap().metadata = json!({ "code_challenge_methods_supported": null,
        "token_endpoint_auth_methods_supported": ["client_secret_post"] });
    trial.settings = OAuthSettings {
        grant: GrantType::ClientCredentials,
        client_id: Some("service".to_owned()),
        client_secret: Some(Arc::new(FixedSecret("service-secret"))),
        ..OAuthSettings::default()
    };
    let upstream = trial.upstream(trial.client());
    assert_eq!(upstream.list_tools().await.unwrap().len(), 1);
    upstream.call(CallRequest::new("say", Map::new())).await.unwrap();
    let asked = trial.asked("/token");
    assert_eq!(asked.len(), 1, "one token serves both");
    assert_eq!(asked[0]["scope"], "basic");
    assert!(asked[0]["resource"].ends_with("/mcp") && !asked[0].contains_key("code"));
    assert!(trial.asked("/authorize").is_empty() && trial.asked("/register").is_empty());
    // One that ended is replaced without a person.
    trial.stage.lock().unwrap().tokens.clear();
    upstream.call(CallRequest::new("say", Map::new())).await.unwrap();
    assert_eq!(trial.asked("/token").len(), 2);
    trial.settings.client_secret = Some(Arc::new(FixedSecret("another-secret")));
    trial.stage.lock().unwrap().tokens.clear();
    let error = trial.upstream(trial.client()).list_tools().await.unwrap_err();
    assert!(error.to_string().contains("invalid_client"), "{error}");
    assert_eq!(code(error), "oauth.refused");
}

pub(crate) struct FixedSecret(pub(crate) &'static str);

impl SecretProvider for FixedSecret {
    fn secret(&self) -> BoxFuture<'_, Result<Secret, SecretError>> {
        Box::pin(std::future::ready(Secret::new(self.0.to_owned().into())))
    }
}

#[tokio::test]
async fn nobody_logged_in_is_said_with_the_command_that_helps() {
    let trial = Trial::new().await;
    let upstream = trial.upstream(trial.client());
    let error = upstream.list_tools().await.unwrap_err();
    assert!(error.to_string().contains("weaver login stage"), "{error}");
    assert_eq!(code(error), "oauth.login");
    // The same without a client: a header of the operator's is in the place of one.
    let url = format!("{}/mcp", trial.stage.lock().unwrap().url);
    let http = HttpConfig { url, ..HttpConfig::default() };
    let plain = Upstream::new(UpstreamConfig::new("stage", Endpoint::Http(http.clone())));
    assert_eq!(code(plain.list_tools().await.unwrap_err()), "oauth.login");
    let headers = [("Authorization".to_owned(), "Bearer wrong".to_owned())].into();
    let own = HttpConfig { headers, ..http };
    let own = Upstream::new(UpstreamConfig::new("stage", Endpoint::Http(own)));
    assert_eq!(own.list_tools().await.unwrap_err().code(), "mcp.http_status");
}

#[tokio::test]
async fn metadata_that_speaks_for_somebody_else_ends_the_login() {
    for (metadata, resource, wanted) in [
        (json!({"code_challenge_methods_supported": null}), json!({}), "oauth.pkce"),
        (json!({"code_challenge_methods_supported": ["plain"]}), json!({}), "oauth.pkce"),
        (json!({"issuer": "https://evil.example"}), json!({}), "oauth.document"),
        (json!({"issuer": null}), json!({}), "oauth.document"),
        (json!({"registration_endpoint": null}), json!({}), "oauth.registration"),
        (json!({"token_endpoint": null}), json!({}), "oauth.document"),
        (json!({"authorization_endpoint": "http://evil.example/a"}), json!({}), "oauth.address"),
        (json!({"token_endpoint": "http://evil.example/t"}), json!({}), "oauth.address"),
        (json!({}), json!({"resource": "https://other.example/mcp"}), "oauth.document"),
        (json!({}), json!({"authorization_servers": []}), "oauth.document"),
        (json!({}), json!({"authorization_servers": ["https://169.254.169.254"]}), "oauth.address"),
        (json!({}), json!({"authorization_servers": ["file:///etc/passwd"]}), "oauth.address"),
    ] {
        let trial = Trial::new().await;
        {
            let mut stage = trial.stage.lock().unwrap();
            (stage.metadata, stage.resource) = (metadata.clone(), resource.clone());
        }
        let error = trial.upstream(trial.person()).list_tools().await.unwrap_err();
        assert_eq!(code(error), wanted, "{metadata} {resource}");
        assert!(trial.stage.lock().unwrap().tokens.is_empty(), "{metadata} {resource}");
    }
}

#[tokio::test]
async fn an_answer_of_another_issuer_gets_no_token() {
    for redirect in [
        json!({"iss": "https://evil.example"}),
        json!({"iss": null}),
        json!({"state": "other"}),
        json!({"state": null}),
        json!({"code": null}),
        json!({"iss": "https://evil.example", "error": "access_denied"}),
    ] {
        let trial = Trial::new().await;
        trial.stage.lock().unwrap().redirect = redirect.clone();
        let error = trial.upstream(trial.person()).list_tools().await.unwrap_err();
        assert_eq!(code(error), "oauth.redirect", "{redirect}");
        assert!(trial.asked("/token").is_empty(), "{redirect}");
    }
}

#[tokio::test]
async fn more_scopes_are_asked_for_together_with_the_old_ones_and_not_for_ever() {
    let trial = Trial::new().await;
    trial.stage.lock().unwrap().scope = Some("write".to_owned());
    let upstream = trial.upstream(trial.person());
    upstream.call(CallRequest::new("say", Map::new())).await.unwrap();
    let scopes: Vec<_> =
        trial.asked("/authorize").iter().map(|asked| asked["scope"].clone()).collect();
    assert_eq!(scopes, ["basic", "basic write"]);
    // Without a person it is said.
    trial.stage.lock().unwrap().scope = Some("admin".to_owned());
    let quiet = trial.upstream(trial.client());
    let error = quiet.call(CallRequest::new("say", Map::new())).await.unwrap_err();
    assert_eq!(code(error), "oauth.scope");
    // A server that is never content is left.
    trial.stage.lock().unwrap().scope = Some("no such".to_owned());
    let before = trial.asked("/authorize").len();
    let error = upstream.call(CallRequest::new("say", Map::new())).await.unwrap_err();
    assert_eq!(code(error), "oauth.scope");
    assert!(trial.asked("/authorize").len() - before <= 2);
}

#[tokio::test]
async fn many_who_find_a_token_stale_refresh_it_once() {
    let trial = Trial::new().await;
    trial.person().log_in().await.unwrap();
    let first = trial.client().token().await.unwrap().unwrap();
    trial.wait(3600 - 30);
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let client = trial.client();
            tokio::spawn(async move { client.token().await.unwrap().unwrap() })
        })
        .collect();
    for task in tasks {
        assert_ne!(task.await.unwrap(), first);
    }
    assert_eq!(trial.asked("/token").len(), 2, "the login, and one refresh");
    assert!(!trial.stage.lock().unwrap().reused);
}

#[tokio::test]
async fn a_token_that_the_server_ended_early_is_refreshed_without_a_person() {
    let trial = Trial::new().await;
    trial.stage.lock().unwrap().life = None;
    trial.person().log_in().await.unwrap();
    trial.stage.lock().unwrap().tokens.clear();
    let upstream = trial.upstream(trial.client());
    assert_eq!(upstream.list_tools().await.unwrap().len(), 1);
    assert_eq!(trial.asked("/authorize").len(), 1);
    let refreshed = &trial.asked("/token")[1];
    assert_eq!(refreshed["resource"], format!("{}/mcp", trial.stage.lock().unwrap().url));
}

#[tokio::test]
async fn a_refresh_that_is_refused_wants_a_person_and_one_that_fails_does_not() {
    let trial = Trial::new().await;
    trial.person().log_in().await.unwrap();
    let fails = |status: u16, body: serde_json::Value| {
        trial.stage.lock().unwrap().refresh_failure = Some((status, body));
    };
    fails(503, json!({}));
    trial.wait(3600 - 30);
    assert!(trial.client().token().await.unwrap().is_some(), "it still counts for half a minute");
    trial.wait(60);
    assert_eq!(trial.client().token().await.unwrap_err().code(), "oauth.unavailable");
    for (status, body, expected) in [
        (429, json!({"error": "slow_down"}), "oauth.unavailable"),
        (403, json!("blocked"), "oauth.unavailable"),
        (400, json!({"error": "temporarily_unavailable"}), "oauth.refused"),
        (401, json!({"error": "invalid_client"}), "oauth.refused"),
    ] {
        fails(status, body);
        let error = trial.client().token().await.unwrap_err();
        assert_eq!(error.code(), expected, "{status}: the refresh token may still count");
    }
    fails(400, json!({"error": "invalid_grant"}));
    assert_eq!(trial.client().token().await.unwrap_err().code(), "oauth.login");
    let asked = trial.asked("/token").len();
    trial.stage.lock().unwrap().tokens.clear();
    let error = trial.upstream(trial.client()).list_tools().await.unwrap_err();
    assert_eq!(code(error), "oauth.login");
    assert_eq!(trial.asked("/token").len(), asked, "it is not asked for again");
    // The person comes back, as the client that is known there.
    let registered = trial.asked("/register").len();
    trial.person().log_in().await.unwrap();
    assert_eq!(trial.asked("/register").len(), registered);
}

#[tokio::test]
async fn a_login_is_not_used_at_another_issuer() {
    let trial = Trial::new().await;
    let first = trial.person().log_in().await.unwrap();
    let other = start().await;
    let other_url = other.lock().unwrap().url.clone();
    {
        let mut stage = trial.stage.lock().unwrap();
        stage.resource = json!({ "authorization_servers": [other_url] });
        stage.tokens.clear();
    }
    // The other issuer gives tokens for its own server alone; how far it gets says what was sent there.
    let error = trial.person().log_in().await.unwrap_err();
    assert_eq!(error.code(), "oauth.redirect", "{error}");
    let asked = other.lock().unwrap().asked.clone();
    assert!(asked.iter().any(|(path, _)| path == "/register"), "{asked:?}");
    let sent = format!("{asked:?}");
    assert!(!sent.contains(&first.client.client_id) && !sent.contains("refresh-"), "{sent}");
}

#[tokio::test]
async fn a_configured_credential_goes_to_no_issuer_that_the_server_names_later() {
    let mut trial = Trial::new().await;
    let issuer = trial.stage.lock().unwrap().url.clone();
    trial.settings.client_id = Some("service".to_owned());
    trial.settings.client_secret = Some(Arc::new(FixedSecret("s3cret-of-the-client")));
    trial.person().log_in().await.unwrap();
    let other = start().await;
    let other_url = other.lock().unwrap().url.clone();
    trial.stage.lock().unwrap().resource = json!({ "authorization_servers": [other_url] });
    assert_eq!(trial.person().log_in().await.unwrap_err().code(), "oauth.issuer");
    // The same where no login says which it was, and the configuration does.
    trial.settings.issuer = Some(issuer);
    let fresh = Trial {
        stage: Arc::clone(&trial.stage),
        settings: trial.settings.clone(),
        ..Trial::new().await
    };
    assert_eq!(fresh.person().log_in().await.unwrap_err().code(), "oauth.issuer");
    assert!(other.lock().unwrap().asked.is_empty(), "the other issuer was not even asked");
    // The operator's word settles it.
    trial.settings.issuer = Some(other_url);
    assert_eq!(trial.person().log_in().await.unwrap_err().code(), "oauth.redirect");
}

#[tokio::test]
async fn a_code_is_typed_in_on_another_device() {
    let trial = Trial::new().await;
    trial.stage.lock().unwrap().pending = 2;
    let agent =
        Arc::new(ConsentingUser { stage: Arc::clone(&trial.stage), shown: Mutex::default() });
    let client = trial.client().with_agent(Arc::clone(&agent) as _);
    client.log_in_with_code().await.unwrap();
    assert_eq!(agent.shown.lock().unwrap()[0].user_code, "ABCD");
    assert_eq!(trial.asked("/token").len(), 3);
    assert!(trial.asked("/device")[0]["resource"].ends_with("/mcp"));
    let none = Trial::new().await;
    none.stage.lock().unwrap().metadata = json!({ "device_authorization_endpoint": null });
    assert_eq!(none.person().log_in_with_code().await.unwrap_err().code(), "oauth.unfinished");
}

#[tokio::test]
async fn nothing_shows_a_token() {
    let trial = Trial::new().await;
    let login = trial.person().log_in().await.unwrap();
    let token = trial.client().token().await.unwrap().unwrap();
    let shown = format!("{login:?} {:?} {:?}", trial.client(), trial.settings);
    assert!(!shown.contains(token.as_str()) && !shown.contains("refresh-"), "{shown}");
}
