use std::collections::BTreeSet;

use tokio::sync::mpsc;

use super::*;
use crate::serve::client_call::{CallChannels, ClientCall};
use crate::serve::target_client::TargetClient;

/// A link with its way out, which lives as long as the sender.
fn linked() -> (Arc<ClientLink>, Outbox, mpsc::Receiver<Vec<u8>>) {
    let (outbox, lines) = mpsc::channel(8);
    let link = Arc::<ClientLink>::default();
    link.set_outbox(&outbox);
    (link, outbox, lines)
}

/// A client of the legacy era, which is asked by requests.
fn session() -> (Arc<ClientLink>, Outbox, mpsc::Receiver<Vec<u8>>) {
    let linked = linked();
    linked.0.set_capabilities(None);
    linked
}

fn read(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap()
}

#[tokio::test]
async fn each_question_gets_its_own_answer() {
    let (link, _outbox, mut lines) = session();
    let ask = |n: u64| {
        let link = Arc::clone(&link);
        tokio::spawn(async move {
            link.ask(QuestionStream::Session, "roots/list", json!({ "n": n })).await
        })
    };
    let asked = [ask(1), ask(2)];
    for _ in 0..2 {
        let question = read(&lines.recv().await.unwrap());
        link.deliver_answer(&json!(7), Ok(json!("to nothing")));
        link.deliver_answer(&question["id"], Ok(question["params"]["n"].clone()));
        link.deliver_answer(&question["id"], Ok(json!("twice")));
    }
    for (asked, n) in asked.into_iter().zip([1, 2]) {
        assert_eq!(asked.await.unwrap().unwrap(), n);
    }
}

#[tokio::test]
async fn no_two_links_ask_under_one_id() {
    let mut ids = BTreeSet::new();
    for _ in 0..2 {
        let (link, _outbox, mut lines) = session();
        let asking = Arc::clone(&link);
        let asked = tokio::spawn(async move {
            asking.ask(QuestionStream::Session, "roots/list", json!({})).await
        });
        let question = read(&lines.recv().await.unwrap());
        assert!(ids.insert(question["id"].as_str().unwrap().to_owned()));
        asked.abort();
    }
}

#[tokio::test]
async fn a_question_that_is_given_up_is_taken_back() {
    let (link, _outbox, mut lines) = session();
    let asking = Arc::clone(&link);
    let asked =
        tokio::spawn(
            async move { asking.ask(QuestionStream::Session, "roots/list", json!({})).await },
        );
    let question = read(&lines.recv().await.unwrap());
    asked.abort();
    let told = read(&lines.recv().await.unwrap());
    assert_eq!(told["method"], "notifications/cancelled");
    assert_eq!(told["params"]["requestId"], question["id"]);
    link.deliver_answer(&question["id"], Ok(json!({})));
}

#[tokio::test]
async fn nobody_waits_for_the_answer_of_a_client_that_has_left() {
    let (link, _outbox, mut lines) = session();
    let asking = Arc::clone(&link);
    let asked =
        tokio::spawn(
            async move { asking.ask(QuestionStream::Session, "roots/list", json!({})).await },
        );
    lines.recv().await.unwrap();
    link.close();
    assert_eq!(asked.await.unwrap().unwrap_err().message, "the client is gone");
    let later = link.ask(QuestionStream::Session, "roots/list", json!({})).await;
    assert_eq!(later.unwrap_err().message, "the client is gone");
    assert!(lines.try_recv().is_err(), "nothing is said to it any more");
}

#[tokio::test]
async fn a_client_without_a_session_is_asked_in_the_call_alone() {
    let (link, _outbox, _lines) = linked();
    let none = link.ask(QuestionStream::Session, "roots/list", json!({})).await.unwrap_err();
    assert_eq!(none.code, RpcError::method_not_found().code);
    let said = Map::from_iter([("roots".to_owned(), json!({}))]);
    let open = || ClientCall::open(&link, Some(said.clone()), CallChannels::default());
    let ((call, mut questions), (other, _)) = (open(), open());
    let asked = TargetClient::of_call(Arc::clone(&call));
    assert!(asked.capability("roots").is_some() && asked.capability("sampling").is_none());
    let asking =
        tokio::spawn(
            async move { asked.ask(Some("where".to_owned()), "roots/list", json!({})).await },
        );
    let question = questions.recv().await.unwrap();
    assert_eq!(question.key.as_deref(), Some("where"));
    let _ = question.reply_to.send(Ok(json!({ "roots": [] })));
    assert_eq!(asking.await.unwrap(), Ok(json!({ "roots": [] })));
    let either = TargetClient::new(Arc::clone(&link), vec![call, other]);
    assert!(either.capability("roots").is_none(), "it could be either");
    assert!(either.ask(None, "roots/list", json!({})).await.is_err());
}
