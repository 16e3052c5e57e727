use tokio::sync::mpsc;
use weaver_types::UpstreamName;

use super::*;
use crate::serve::client_call::{CallChannels, ClientCall};
use crate::serve::feature_snapshot::ResourceAddress;
use crate::serve::target_client::TargetClient;

fn address(uri: &str) -> ResourceAddress {
    ResourceAddress { server: UpstreamName::parse("s").unwrap(), uri: uri.to_owned() }
}

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

#[test]
fn what_is_watched_is_bounded_and_covers_its_parts() {
    let (link, _outbox, _lines) = linked();
    for n in 0..MAX_SUBSCRIPTIONS {
        assert_eq!(link.subscribe(&format!("x://{n}/"), address(&format!("x://{n}/"))), Ok(true));
    }
    assert_eq!(link.subscribe("x://0/", address("x://0/")), Ok(false));
    assert!(link.subscribe("x://more", address("x://more")).is_err());
    assert_eq!(told_of(&link, &address("x://1/part")), ["x://1/part"]);
    let none: [&str; 0] = [];
    assert_eq!(told_of(&link, &address("x://1")), none);
    let mut other = address("x://1/part");
    other.server = UpstreamName::parse("t").unwrap();
    assert_eq!(told_of(&link, &other), none);
    assert_eq!(link.all_update_targets().len(), MAX_SUBSCRIPTIONS, "all of it may have changed");
    assert_eq!(link.take_all_subscriptions().len(), MAX_SUBSCRIPTIONS);
}

/// By which URIs the client is told of a change.
fn told_of(link: &ClientLink, changed: &ResourceAddress) -> Vec<String> {
    link.update_targets(changed).into_iter().map(|listener| listener.uri).collect()
}

#[test]
fn a_resource_with_a_longer_name_is_no_part_and_the_clients_own_uri_is_told() {
    let (link, _outbox, _lines) = linked();
    assert_eq!(link.subscribe("weaver://s/x://a", address("x://a")), Ok(true));
    for part in ["", "/b", "?page=2", "#end"] {
        let told = told_of(&link, &address(&format!("x://a{part}")));
        assert_eq!(told, [format!("weaver://s/x://a{part}")]);
    }
    for other in ["x://ab", "x://a.txt", "x://"] {
        assert!(told_of(&link, &address(other)).is_empty(), "{other}");
    }
}

/// The protocol requires it, and whatever looks for streams needs the lock under which it is sent.
#[tokio::test]
async fn the_first_message_of_a_stream_is_its_acknowledgement() {
    let (link, outbox, mut lines) = linked();
    let stream = SubscriptionStream {
        id: json!(1),
        outbox: outbox.downgrade(),
        lists: BTreeSet::from([ServerList::Prompts]),
        resources: BTreeMap::new(),
    };
    let open = |place| link.open_stream(stream.clone(), place, b"acknowledged".to_vec());
    assert_eq!(open(outbox.reserve().await.unwrap()), Ok(0));
    assert_eq!(lines.try_recv().unwrap(), b"acknowledged");
    for _ in 1..MAX_STREAMS {
        open(outbox.reserve().await.unwrap()).unwrap();
        lines.recv().await.unwrap();
    }
    assert!(open(outbox.reserve().await.unwrap()).is_err());
    assert!(lines.try_recv().is_err(), "nothing was agreed to");
}
