use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::*;
use crate::serve::client_call::{CallChannels, ClientCall};
use crate::serve::client_link::ClientLink;

/// How long a question waits for its answer.
const PATIENCE: Duration = Duration::from_secs(60);

fn request(params: Value) -> Request {
    let Value::Object(mut params) = params else { panic!("no object") };
    let version = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    params.insert("_meta".to_owned(), version);
    Request { id: json!(1), method: "tools/call".to_owned(), params, argument_problem: None }
}

/// A call that asks twice and says what it was told.
fn call(link: &Arc<ClientLink>, of: &Request) -> RunningCall {
    call_in(&Arc::new(Semaphore::new(2)), link, of)
}

/// The same, and it takes two places.
fn call_in(places: &Arc<Semaphore>, link: &Arc<ClientLink>, of: &Request) -> RunningCall {
    let identity = RequestIdentity::resumable(of);
    let (asking, questions) =
        ClientCall::open(link, identity.capabilities().cloned(), CallChannels::default());
    let answer = async move {
        let mut told = Vec::new();
        for n in [1, 2] {
            let asked =
                asking.ask(Some("name".to_owned()), "elicitation/create", json!({ "n": n }));
            let answer = tokio::time::timeout(PATIENCE, asked).await;
            let late = || mcp::RpcError::new(-32603, "nobody answered in time");
            let answer = answer.unwrap_or_else(|_| Err(late()));
            told.push(answer.map_err(|error| RpcError::new(error.code, error.message))?);
        }
        Ok(Value::Array(told))
    };
    let permit = || Arc::clone(places).try_acquire_owned().unwrap();
    RunningCall::start(
        identity,
        questions,
        Arc::new([permit(), permit()]),
        CancellationToken::new(),
        answer,
    )
}

async fn asked(link: &ClientLink, mut call: RunningCall) -> (String, String, Value) {
    assert!(matches!(call.next_step(&CancellationToken::new()).await, CallStep::InputRequired));
    let result = link.parked.park(call).unwrap();
    assert_eq!(result["resultType"], "input_required");
    let (name, question) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    (result["requestState"].as_str().unwrap().to_owned(), name.clone(), question.clone())
}

#[tokio::test]
async fn a_call_is_taken_up_again_with_its_answers_until_it_ends() {
    let (link, first) =
        (Arc::<ClientLink>::default(), request(json!({"name": "a", "arguments": {}})));
    let (state, name, question) = asked(&link, call(&link, &first)).await;
    assert_eq!(question, json!({"method": "elicitation/create", "params": {"n": 1}}));
    let again = |state: &str, responses: Value| {
        request(json!({"name": "a", "arguments": {}, "requestState": state,
            "inputResponses": responses}))
    };
    assert_eq!(name, "name", "its server calls it so");
    // Answers to nothing ask again, under another name.
    let wrong = again(&state, json!({"other": {"action": "accept"}}));
    let resumed = link.parked.resume(&wrong).unwrap().unwrap();
    let (fresh, same, _) = asked(&link, resumed).await;
    assert!(fresh != state && same == name);
    let answers = again(&fresh, json!({ &name: {"a": 1}, "extra": {} }));
    let resumed = link.parked.resume(&answers).unwrap().unwrap();
    let (last, name, question) = asked(&link, resumed).await;
    assert_eq!(question["params"]["n"], 2);
    let answers = again(&last, json!({ name: {"a": 2} }));
    let mut resumed = link.parked.resume(&answers).unwrap().unwrap();
    let CallStep::Ended(Ok(Ok(result))) = resumed.next_step(&CancellationToken::new()).await else {
        panic!("not ended")
    };
    assert_eq!(result, json!([{"a": 1}, {"a": 2}]));
}

#[tokio::test]
async fn nobody_takes_up_what_is_another_request() {
    let (link, first) =
        (Arc::<ClientLink>::default(), request(json!({"name": "a", "arguments": {}})));
    let (state, _, _) = asked(&link, call(&link, &first)).await;
    for odd in [
        json!({"name": "a", "arguments": {}, "requestState": format!("{state}x")}),
        json!({"name": "b", "arguments": {}, "requestState": state}),
        json!({"name": "a", "arguments": {"x": 1}, "requestState": state}),
        json!({"name": "a", "arguments": {}, "requestState": 7}),
        json!({"name": "a", "arguments": {}, "requestState": state, "inputResponses": null}),
    ] {
        let refused = link.parked.resume(&request(odd.clone())).err().unwrap();
        assert_eq!(refused.code, code::INVALID_PARAMS, "{odd}");
    }
    let again = request(json!({"name": "a", "arguments": {}, "requestState": state}));
    assert!(link.parked.resume(&again).unwrap().is_some(), "it still waits");
    assert!(link.parked.resume(&again).is_err(), "once");
    assert!(link.parked.resume(&first).unwrap().is_none(), "a request of its own");
}

#[tokio::test]
async fn what_nobody_takes_up_ends_with_its_client() {
    let (link, first) = (Arc::<ClientLink>::default(), request(json!({"name": "a"})));
    for _ in 0..MAX_PARKED {
        asked(&link, call(&link, &first)).await;
    }
    let mut one = call(&link, &first);
    assert!(matches!(one.next_step(&CancellationToken::new()).await, CallStep::InputRequired));
    assert!(link.parked.park(one).is_err(), "there is a bound");
    link.close();
    assert!(link.parked.lock().by_state.is_empty());
}

#[tokio::test]
async fn a_client_that_has_left_is_asked_nothing_and_its_call_ends() {
    let (link, first) = (Arc::<ClientLink>::default(), request(json!({"name": "a"})));
    let mut late = call(&link, &first);
    link.close();
    let CallStep::Ended(Ok(Err(error))) = late.next_step(&CancellationToken::new()).await else {
        panic!("it asks")
    };
    assert_eq!(error.message, "the client is gone");
}

#[tokio::test]
async fn a_question_on_its_way_when_its_client_leaves_is_given_up() {
    let (link, first) = (Arc::<ClientLink>::default(), request(json!({"name": "a"})));
    let places = Arc::new(Semaphore::new(2));
    let mut asking = call_in(&places, &link, &first);
    assert!(matches!(asking.next_step(&CancellationToken::new()).await, CallStep::InputRequired));
    link.close();
    assert!(link.parked.park(asking).is_err());
    let free = tokio::time::timeout(PATIENCE / 2, places.acquire_many(2)).await;
    assert!(free.is_ok(), "its places are free before the question would have timed out");
}

#[tokio::test]
async fn a_parked_call_keeps_its_places_until_it_ends_and_no_longer() {
    let (link, first) = (Arc::<ClientLink>::default(), request(json!({"name": "a"})));
    let places = Arc::new(Semaphore::new(2));
    tokio::time::pause();
    asked(&link, call_in(&places, &link, &first)).await;
    assert_eq!(places.available_permits(), 0);
    let free = tokio::time::timeout(2 * PATIENCE, places.acquire_many(2)).await;
    assert!(free.is_ok(), "nobody answered in time");
}

#[tokio::test]
async fn a_call_that_was_taken_up_again_waits_for_nobody_once_its_new_request_may_not() {
    let first = CancellationToken::new();
    let waits = first.clone();
    let permit = || Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    let (_asking, questions) = mpsc::channel(1);
    let identity = RequestIdentity::resumable(&request(json!({"name": "a"})));
    let mut call = RunningCall::start(
        identity,
        questions,
        Arc::new([permit(), permit()]),
        first,
        async move {
            waits.cancelled().await;
            Ok(json!("waits no more"))
        },
    );
    let second = CancellationToken::new();
    second.cancel();
    let step = tokio::time::timeout(PATIENCE, call.next_step(&second)).await.unwrap();
    let CallStep::Ended(Ok(Ok(result))) = step else { panic!("not ended") };
    assert_eq!(result, "waits no more");
}
