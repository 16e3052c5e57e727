//! Logins of several principals at one server: nobody calls it with the login of another.

use serde_json::{Value, json};

use crate::http::request;
use crate::login::log_in;
use crate::oauth_resource::Gate;
use crate::support::{until, weaver};

const OWNER: &str = "access-hunter2-owner";
const ANA: &str = "access-hunter2-anabel";

/// A gateway whose own principal is logged in at the server, where other principals come by tokens.
fn gate(of_server: &str) -> Gate {
    let gate = Gate::before("", "", of_server);
    gate.issuer.state().tokens = vec![OWNER.to_owned()];
    log_in_as(&gate, &[]);
    until("the server is ready", || {
        let status = gate.web.weaver(&["status", "--json"]).json();
        status["servers"]["kept"]["state"] == "ready"
    });
    gate
}

fn log_in_as(gate: &Gate, more: &[&str]) {
    let (ended, said) = log_in(&gate.web.config(), more);
    assert!(ended, "{said}");
}

fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    params
}

fn say() -> Value {
    json!({ "name": "tool_execute", "arguments": { "capability": "kept.say", "arguments": {} } })
}

/// What comes of a call of the server by whom a token of the gateway's issuer names.
fn said_to(gate: &Gate, subject: &str) -> String {
    let token = gate.token(&json!({ "sub": subject }));
    gate.post(&token, &request(1, "tools/call", modern(say()))).body
}

/// The resources that somebody sees.
fn papers(gate: &Gate, subject: &str) -> String {
    let token = gate.token(&json!({ "sub": subject }));
    gate.post(&token, &request(2, "resources/list", modern(json!({})))).body
}

/// How often the server was called with a token.
fn calls_with(gate: &Gate, token: &str) -> usize {
    let state = gate.issuer.state();
    let called = |asked: &&String| asked.contains("tools/call") && asked.contains(token);
    state.asked.iter().filter(called).count()
}

#[test]
fn everybody_calls_a_server_with_a_login_of_their_own() {
    let gate = gate("");
    let mut own = gate.web.client();
    let (failed, body) = own.execute("kept.say", json!({}));
    assert!(!failed && body.to_string().contains("said to 1"), "{body}");
    // Nobody gets the gateway's login, nor sees what it sees.
    let without = said_to(&gate, "ana");
    assert!(without.contains("the operator runs `weaver login kept --as corp:ana`"), "{without}");
    assert!(papers(&gate, "ana").contains("\"resources\":[]"), "{}", papers(&gate, "ana"));
    assert_eq!(calls_with(&gate, OWNER), 1);
    gate.issuer.state().tokens.push(ANA.to_owned());
    log_in_as(&gate, &["--as", "corp:ana"]);
    let with = said_to(&gate, "ana");
    assert!(with.contains("said to 2"), "{with}");
    let hers = papers(&gate, "ana");
    assert!(hers.contains("paper of 2") && !hers.contains("paper of 1"), "{hers}");
    assert!(said_to(&gate, "bob").contains("weaver login kept --as corp:bob"));
    let (failed, body) = own.execute("kept.say", json!({}));
    assert!(!failed && body.to_string().contains("said to 1"), "{body}");
    assert_eq!((calls_with(&gate, OWNER), calls_with(&gate, ANA)), (2, 1));
    let config = gate.web.config();
    let looked = weaver(&["doctor", "--config", &config]).out;
    for (who, word) in [("owner", "login kept"), ("corp:ana", "kept fresh by the gateway")] {
        let line = looked.lines().find(|line| line.contains(who) && line.contains("login kept"));
        assert!(line.is_some_and(|line| line.contains(word)), "{looked}");
    }
    // Whoever logs out is without a login at once.
    let out = ["logout", "kept", "--as", "corp:ana", "--config", &config];
    assert_eq!(weaver(&out).code, 0);
    assert!(said_to(&gate, "ana").contains("weaver login kept --as corp:ana"));
    own.finish();
}

/// The operator may say that one login is for all.
#[test]
fn a_shared_server_is_called_with_the_login_of_the_gateway() {
    let gate = gate("instances = \"shared\"");
    assert!(said_to(&gate, "ana").contains("said to 1"));
    assert!(papers(&gate, "ana").contains("paper of 1"));
}
