//! The gateway of one client.

use serde_json::json;

use crate::gateway::Gateway;

#[test]
fn a_gateway_of_one_client_lists_calls_holds_and_records() {
    let gateway = Gateway::new();
    let mut client = gateway.client(&["--standalone"]);
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].to_string();
    assert!(tools.contains("notes__read_note"), "{tools}");
    assert!(client.reads());
    let request = client.held_deletion();
    assert!(gateway.note().exists());
    gateway.grant(&request);
    crate::gateway::until("the granted call goes through", || {
        client.call("notes__delete_note", json!({ "name": "shopping" }));
        !gateway.note().exists()
    });
    client.finish();
    gateway.verify();
    let doctor = gateway.ok(&["doctor"]);
    assert!(doctor.out.contains("Nothing is broken"), "{doctor:?}");
}

#[test]
fn the_demo_ends_as_it_should() {
    let gateway = Gateway::new();
    let demo = gateway.plain(&["demo"]);
    assert_eq!(demo.code, 0, "{demo:?}");
}
