//! Which sessions end by themselves.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;

use tempfile::TempDir;
use weaver_policy::{PolicySet, TokenIdentity};
use weaver_types::signature::SigningKey;

use super::super::caller::TokenCaller;
use super::*;
use crate::config::{self, Config, HttpSettings, SignatureChecks};
use crate::oauth::VerifiedToken;
use crate::serve::{ServeOptions, Server};

const ISSUER: &str = "https://login.example";
const READERS: &str = "[issuers.corp]\nissuer = \"https://login.example\"\n\
                       groups = { \"staff\" = [\"reader\"] }\n";

/// A configuration whose policy says this, in a folder of its own.
fn configure(policy: &str) -> (TempDir, Config) {
    let folder = TempDir::new().unwrap();
    let root = SigningKey::from_seed([7; 32]).public();
    let server = "[mcpServers.away]\nurl = \"http://127.0.0.1:1/mcp\"\n";
    let text = format!("[principal]\nid = \"owner\"\n\n[trust]\nroot = \"{root}\"\n\n{server}");
    fs::write(folder.path().join("weaver.toml"), text).unwrap();
    fs::create_dir(folder.path().join("policy")).unwrap();
    let rest = format!("principals.owner.roles = []\n\n{policy}");
    for (kind, rest) in [("policy", rest.as_str()), ("contracts", ""), ("keys", "")] {
        let path = folder.path().join(format!("policy/{kind}.toml"));
        let head = format!("kind = \"{kind}\"\nformat = 1\nid = \"example\"\nversion = 1\n");
        fs::write(path, format!("{head}{rest}")).unwrap();
    }
    let config = config::load(folder.path().join("weaver.toml")).unwrap();
    (folder, config)
}

fn policy(text: &str) -> PolicySet {
    config::load_policy(&configure(text).1, SignatureChecks::Skipped, now()).unwrap()
}

/// A gateway that reaches no server, and whose policy is not signed.
async fn gateway(policy: &str) -> (TempDir, Arc<HttpGateway>) {
    let (folder, config) = configure(policy);
    let options = ServeOptions { unsigned_development: true, ..ServeOptions::default() };
    let server = Arc::new(Server::open(config, options).await.unwrap());
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let settings = HttpSettings::at(address);
    let gateway =
        HttpGateway::new(server, settings, address, Arc::default(), Arc::default()).unwrap();
    (folder, Arc::new(gateway))
}

fn begin(gateway: &Arc<HttpGateway>, caller: &Caller) -> (String, Arc<HttpSession>) {
    gateway.sessions.begin(gateway, caller).unwrap_or_else(|_| panic!("no session"))
}

#[tokio::test]
async fn a_stream_that_its_client_reads_keeps_a_session() {
    let (_folder, gateway) = gateway("").await;
    let (_, session) = begin(&gateway, &Caller::Anonymous);
    let leave_unused = || {
        let long_ago = Instant::now().checked_sub(2 * IDLE_TIMEOUT).unwrap();
        *session.last_used.lock().unwrap() = long_ago;
    };
    let expired = || {
        let policy = gateway.server.policy();
        gateway.sessions.remove_expired(&gateway.clients, policy.policy(), now()).len()
    };
    leave_unused();
    let listener = session.messages.add_listener();
    assert_eq!(expired(), 0);
    drop(listener);
    assert_eq!(expired(), 0, "it was used until now");
    leave_unused();
    assert_eq!(expired(), 1);
}

/// A caller with a token that ends so many seconds after the beginning of time.
fn bearer(seconds: Option<u64>) -> Caller {
    let staff = BTreeSet::from(["staff".to_owned()]);
    let identity = TokenIdentity {
        issuer: ISSUER.to_owned(),
        subject: "ana".to_owned(),
        groups: staff,
        scopes: BTreeSet::new(),
    };
    let principal = policy(READERS).policy().principal_for_token(&identity).unwrap();
    let token = VerifiedToken { identity, client_id: None, expires: seconds.map(at) };
    Caller::Token(TokenCaller::new(token, &principal, None, at(0)))
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(0).after(Duration::from_secs(seconds))
}

#[tokio::test]
async fn a_session_lives_as_long_as_the_best_token_that_its_caller_showed() {
    let (_folder, gateway) = gateway(READERS).await;
    let policy = gateway.server.policy();
    let expired_at = |seconds: u64| {
        gateway.sessions.remove_expired(&gateway.clients, policy.policy(), at(seconds)).len()
    };
    let (id, _) = begin(&gateway, &bearer(Some(100)));
    assert_eq!(expired_at(99), 0);
    for seconds in [200, 150] {
        assert!(gateway.sessions.find(&id, &bearer(Some(seconds))).is_some());
    }
    assert_eq!((expired_at(199), expired_at(200)), (0, 1));
    begin(&gateway, &bearer(None));
    let lifetime = 30 * 60;
    assert_eq!((expired_at(lifetime - 1), expired_at(lifetime)), (0, 1), "it says no end");
    begin(&gateway, &Caller::Anonymous);
    assert_eq!(expired_at(u64::from(u32::MAX)), 0);
}

#[tokio::test]
async fn a_session_ends_when_the_policy_changes_the_rights_of_its_token() {
    let (_folder, gateway) = gateway(READERS).await;
    let expired_under = |text: &str| {
        let policy = policy(text);
        gateway.sessions.remove_expired(&gateway.clients, policy.policy(), at(1)).len()
    };
    for other in ["", &READERS.replace("reader", "writer"), &READERS.replace("staff", "others")] {
        begin(&gateway, &bearer(Some(100)));
        assert_eq!((expired_under(READERS), expired_under(other)), (0, 1), "{other}");
    }
}

/// A finished stream of a session, with an event of this many bytes.
fn finished_stream(session: &HttpSession, bytes: usize) -> u64 {
    let stream = session.open_answer_stream();
    stream.events.push(vec![b'x'; bytes]);
    stream.events.end();
    stream.number
}

#[tokio::test]
async fn a_finished_stream_is_kept_for_two_minutes_and_only_so_many_bytes_of_them() {
    let (_folder, gateway) = gateway("").await;
    let (_, session) = begin(&gateway, &Caller::Anonymous);
    tokio::time::pause();
    let open = session.open_answer_stream().number;
    let large: Vec<u64> =
        (0..4).map(|_| finished_stream(&session, MAX_FINISHED_BYTES / 2)).collect();
    let kept = |number: &u64| session.answer_stream(*number).is_some();
    assert_eq!(large.iter().map(kept).collect::<Vec<bool>>(), [false, false, true, true]);
    let largest = finished_stream(&session, 2 * MAX_FINISHED_BYTES);
    assert!(kept(&largest) && !large.iter().any(kept), "the newest is kept, whatever its size");
    tokio::time::advance(STREAM_RETENTION - Duration::from_secs(1)).await;
    assert!(kept(&largest));
    tokio::time::advance(Duration::from_secs(1)).await;
    let policy = gateway.server.policy();
    gateway.sessions.remove_expired(&gateway.clients, policy.policy(), now());
    let streams = session.answers.lock().unwrap();
    assert_eq!(streams.open.keys().collect::<Vec<_>>(), [&open]);
}
