//! Ways to tokens beside a person's login with a bearer token: private keys, assertions, and tokens
//! that are bound to a key.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use serde_json::{Map, json};
use weaver_drivers::http::{FileSecret, ProjectedSecret};
use weaver_drivers::mcp::CallRequest;
use weaver_drivers::oauth::{AssertionSource, GrantType, OAuthSettings, TokenExchange};

use crate::oauth::{FixedSecret, Trial, code};

const PLATFORM_TOKEN: &str = "platform.token.first";

fn say() -> CallRequest {
    CallRequest::new("say", Map::new())
}

#[tokio::test]
async fn a_client_proves_who_it_is_by_its_private_key() {
    let mut trial = Trial::new().await;
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("client.pem");
    std::fs::write(&path, pair.serialize_pem()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    {
        let mut stage = trial.stage.lock().unwrap();
        stage.client_key = Some(pair.public_key_raw().to_vec());
        stage.metadata = json!({ "token_endpoint_auth_methods_supported": ["private_key_jwt"],
            "token_endpoint_auth_signing_alg_values_supported": ["ES256"] });
    }
    trial.settings = OAuthSettings {
        grant: GrantType::ClientCredentials,
        client_id: Some("service".to_owned()),
        client_key: Some(Arc::new(FileSecret(path.clone()))),
        ..OAuthSettings::default()
    };
    let upstream = trial.upstream(trial.client());
    upstream.call(say()).await.unwrap();
    trial.stage.lock().unwrap().tokens.clear();
    upstream.call(say()).await.unwrap();
    let asked = trial.asked("/token");
    assert_eq!(asked.len(), 2);
    assert_ne!(asked[0]["client_assertion"], asked[1]["client_assertion"], "each is another");
    assert!(asked.iter().all(|form| !form.contains_key("client_secret")));
    // Another algorithm, a key that others can read, a key that is none: nothing is asked for.
    let refused = async |wanted: &str| {
        trial.stage.lock().unwrap().tokens.clear();
        let error = trial.upstream(trial.client()).list_tools().await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`client_key`") && text.contains(wanted), "{text}");
        assert_eq!(code(error), "oauth.client_key");
    };
    trial.stage.lock().unwrap().metadata =
        json!({ "token_endpoint_auth_signing_alg_values_supported": ["RS256"] });
    refused("it signs with ES256, and the authorization server takes RS256 alone").await;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    refused("chmod 600").await;
    std::fs::write(&path, "no key at all").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    refused("openssl pkcs8").await;
    assert_eq!(trial.asked("/token").len(), 2);
}

#[tokio::test]
async fn the_token_of_a_workload_is_read_anew_for_each_token() {
    let mut trial = Trial::new().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    // A platform projects it readable for a group.
    std::fs::write(&path, PLATFORM_TOKEN).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    trial.stage.lock().unwrap().assertions.push(PLATFORM_TOKEN.to_owned());
    trial.settings = OAuthSettings {
        grant: GrantType::JwtBearer,
        client_id: Some("workload".to_owned()),
        assertion: Some(AssertionSource::Token(Arc::new(ProjectedSecret(path.clone())))),
        ..OAuthSettings::default()
    };
    let upstream = trial.upstream(trial.client());
    upstream.call(say()).await.unwrap();
    assert_eq!(trial.asked("/token")[0]["assertion"], PLATFORM_TOKEN);
    {
        let mut stage = trial.stage.lock().unwrap();
        stage.tokens.clear();
        stage.assertions = vec!["platform.token.second".to_owned()];
    }
    std::fs::write(&path, "platform.token.second\n").unwrap();
    upstream.call(say()).await.unwrap();
    assert_eq!(trial.asked("/token")[1]["assertion"], "platform.token.second");
    // What is refused is asked for once, and in no other way.
    {
        let mut stage = trial.stage.lock().unwrap();
        stage.tokens.clear();
        stage.assertions.clear();
    }
    assert_eq!(code(upstream.call(say()).await.unwrap_err()), "oauth.refused");
    assert_eq!(trial.asked("/token").len(), 3);
    std::fs::write(&path, "this is not a token").unwrap();
    assert_eq!(code(upstream.call(say()).await.unwrap_err()), "oauth.unavailable");
    assert_eq!(trial.asked("/token").len(), 3);
    assert!(trial.asked("/authorize").is_empty());
}

#[tokio::test]
async fn an_identity_provider_gives_the_assertion() {
    let mut trial = Trial::new().await;
    let url = trial.stage.lock().unwrap().url.clone();
    trial.settings = OAuthSettings {
        grant: GrantType::JwtBearer,
        client_id: Some("weaver".to_owned()),
        client_secret: Some(Arc::new(FixedSecret("weaver-secret"))),
        assertion: Some(AssertionSource::Exchange(TokenExchange {
            issuer: url.clone(),
            client_id: "weaver-at-the-provider".to_owned(),
            client_secret: None,
            subject_token: Arc::new(FixedSecret("id.token.of-ana")),
        })),
        ..OAuthSettings::default()
    };
    trial.upstream(trial.client()).call(say()).await.unwrap();
    let asked = trial.asked("/token");
    assert_eq!(asked.len(), 2);
    let (exchange, grant) = (&asked[0], &asked[1]);
    assert_eq!(exchange["subject_token"], "id.token.of-ana");
    assert_eq!(exchange["subject_token_type"], "urn:ietf:params:oauth:token-type:id_token");
    assert_eq!(exchange["requested_token_type"], "urn:ietf:params:oauth:token-type:id-jag");
    assert_eq!(exchange["client_id"], "weaver-at-the-provider");
    assert_eq!(exchange["resource"], format!("{url}/mcp"));
    assert!(grant["assertion"].starts_with("id.jag."));
    assert!(!grant.contains_key("subject_token"), "the person's token stays with the provider");
    // A token of another type is none that an authorization server was meant to get.
    {
        let mut stage = trial.stage.lock().unwrap();
        stage.tokens.clear();
        stage.token_type = Some("urn:ietf:params:oauth:token-type:access_token");
    }
    let error = trial.upstream(trial.client()).call(say()).await.unwrap_err();
    assert_eq!(code(error), "oauth.document");
}

#[tokio::test]
async fn a_token_is_bound_to_a_key_where_the_server_wants_that() {
    let trial = Trial::new().await;
    {
        let mut stage = trial.stage.lock().unwrap();
        stage.nonce = Some("first");
        stage.metadata = json!({ "dpop_signing_alg_values_supported": ["ES256"] });
    }
    let upstream = trial.upstream(trial.person());
    upstream.call(say()).await.unwrap();
    assert!(trial.asked("/authorize")[0].contains_key("dpop_jkt"), "so is the code");
    // Once for the value that the authorization server wants, once with it.
    assert_eq!(trial.asked("/token").len(), 2);
    // A new value is taken over at once, and a refresh keeps the key.
    trial.stage.lock().unwrap().nonce = Some("second");
    upstream.call(say()).await.unwrap();
    trial.wait(3_590);
    trial.upstream(trial.client()).call(say()).await.unwrap();
    assert_eq!(trial.asked("/authorize").len(), 1, "nobody logged in again");
    let stage = trial.stage.lock().unwrap();
    assert!(stage.bearers.iter().all(|sent| sent.starts_with("DPoP ")), "{:?}", stage.bearers);
    assert!(!stage.reused);
}

#[tokio::test]
async fn a_token_that_is_not_bound_is_refused_where_it_must_be() {
    let mut trial = Trial::new().await;
    trial.settings.dpop_bound_access_tokens = true;
    // An authorization server that knows nothing of proofs.
    let error = trial.person().log_in().await.unwrap_err();
    assert_eq!(error.code(), "oauth.document");
    assert!(trial.client().token().await.unwrap().is_none(), "it is not kept");
    trial.stage.lock().unwrap().metadata =
        json!({ "dpop_signing_alg_values_supported": ["RS256"] });
    let error = trial.person().log_in().await.unwrap_err();
    assert_eq!(error.code(), "oauth.dpop");
    assert!(error.to_string().contains("`dpop_bound_access_tokens`"), "{error}");
    // One that downgrades.
    {
        let mut stage = trial.stage.lock().unwrap();
        (stage.nonce, stage.token_type) = (Some("n"), Some("Bearer"));
        stage.metadata = json!({});
    }
    assert_eq!(trial.person().log_in().await.unwrap_err().code(), "oauth.document");
}
