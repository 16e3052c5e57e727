//! Resources, prompts, completion, the log, and what a server asks, in both eras.

use std::sync::mpsc::{Receiver, channel};

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::{
    CallOutcome, CallRequest, Connection, EraChoice, LogLevel, NotificationSink, RequestHandler,
    RpcError, ServerList, ServerNotification, ServerRequest, Upstream, UpstreamConfig,
};

use crate::feature_server::RESOURCES;
use crate::support::{LONG, config, connect_with, request};

const ERAS: [(&str, EraChoice); 2] =
    [("features", EraChoice::Legacy), ("features_modern", EraChoice::Modern)];

/// A configuration whose notifications arrive here.
fn heard(behaviour: &str, era: EraChoice) -> (UpstreamConfig, Receiver<ServerNotification>) {
    let (tell, told) = channel();
    let sink = NotificationSink::new(move |notification| drop(tell.send(notification)));
    (UpstreamConfig { era, notifications: Some(sink), ..config(behaviour) }, told)
}

/// A connection with what it hears.
async fn both(behaviour: &str, era: EraChoice) -> (Connection, Receiver<ServerNotification>) {
    let (config, told) = heard(behaviour, era);
    (connect_with(config).await.unwrap(), told)
}

/// The next log message of this logger.
async fn logged(told: &mut Receiver<ServerNotification>, wanted: &str) -> Value {
    loop {
        let next = tokio::task::block_in_place(|| told.recv_timeout(LONG)).unwrap();
        if let ServerNotification::Log { logger: Some(logger), data, .. } = next
            && logger == wanted
        {
            return data;
        }
    }
}

/// The next notification that is no log message.
async fn other(told: &mut Receiver<ServerNotification>) -> ServerNotification {
    loop {
        let next = tokio::task::block_in_place(|| told.recv_timeout(LONG)).unwrap();
        if !matches!(next, ServerNotification::Log { .. }) {
            return next;
        }
    }
}

async fn complete(connection: &Connection, request: CallRequest) -> Value {
    match connection.call(request.timeout(LONG)).await.unwrap() {
        CallOutcome::Complete(reply) => reply.value().clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_joined_and_keep_their_bytes() {
    for (behaviour, era) in ERAS {
        let (connection, _told) = both(behaviour, era).await;
        let server = connection.server();
        assert!(server.has_list(ServerList::Prompts) && !server.has_list(ServerList::Tools));
        assert!(server.announces_changes_of(ServerList::ResourceTemplates));
        let resources = connection.list(ServerList::Resources).await.unwrap();
        let expected: Vec<String> = (0..RESOURCES).map(|n| format!("note://{n}")).collect();
        assert_eq!(resources.iter().map(|item| item.identifier()).collect::<Vec<_>>(), expected);
        let templates = connection.list(ServerList::ResourceTemplates).await.unwrap();
        assert_eq!(
            templates[0].raw(),
            r#"{"uriTemplate":"note://{name}","x-odd": 1.50 ,"name":"note"}"#
        );
        let prompts = connection.list(ServerList::Prompts).await.unwrap();
        assert_eq!(prompts[0].identifier(), "greet");
        assert_eq!(prompts[0].value()["arguments"][0]["required"], true);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_for_alone_decides_what_is_read() {
    for (behaviour, era) in ERAS {
        let (connection, _told) = both(behaviour, era).await;
        let read = complete(&connection, CallRequest::read_resource("note://1")).await;
        assert_eq!(read["contents"], json!([{"uri": "note://1", "text": "hello"}]));
        let who = Map::from_iter([("who".to_owned(), json!("Ada"))]);
        let got = complete(&connection, CallRequest::get_prompt("greet", who)).await;
        assert_eq!(got["messages"][0]["content"]["text"], "Greet Ada.");
        let params = json!({"ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "who", "value": "A"}});
        let Value::Object(params) = params else { panic!() };
        let completed = complete(&connection, CallRequest::complete(params)).await;
        assert_eq!(completed["completion"]["values"], json!(["A!"]));
        let gone = connection.call(CallRequest::read_resource("note://gone")).await.unwrap();
        assert!(matches!(gone, CallOutcome::Error(RpcError { code: -32002, .. })), "{gone:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_told_and_make_a_list_stale() {
    for (behaviour, era) in ERAS {
        let (connection, mut told) = both(behaviour, era).await;
        connection.list(ServerList::Resources).await.unwrap();
        assert!(!connection.is_stale(ServerList::Resources));
        complete(&connection, CallRequest::read_resource("note://change")).await;
        let changed = ServerNotification::ListChanged(ServerList::Resources);
        assert_eq!(other(&mut told).await, changed);
        let lists = [ServerList::Resources, ServerList::ResourceTemplates, ServerList::Prompts];
        assert_eq!(lists.map(|list| connection.is_stale(list)), [true, true, false]);
        connection.list(ServerList::Resources).await.unwrap();
        assert!(!connection.is_stale(ServerList::Resources));
    }
}

/// The next notification that is no log message. What the server says it was asked for meanwhile, and
/// with which resources, goes to `asked`.
async fn update(
    told: &mut Receiver<ServerNotification>,
    asked: &mut Vec<Value>,
) -> ServerNotification {
    loop {
        let next = tokio::task::block_in_place(|| told.recv_timeout(LONG)).unwrap();
        match next {
            ServerNotification::Log { data, .. } => asked.extend(listened(&data)),
            other => return other,
        }
    }
}

/// The resources of a request to listen.
fn listened(data: &Value) -> Option<Value> {
    let filter = &data["params"]["notifications"]["resourceSubscriptions"];
    (data["method"] == "subscriptions/listen").then(|| filter.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_resource_tells_of_itself_in_either_era() {
    for (behaviour, era) in ERAS {
        let (connection, mut told) = both(behaviour, era).await;
        let mut asked = Vec::new();
        for uri in ["note://1", "note://2"] {
            connection.subscribe(uri).await.unwrap();
            let updated = ServerNotification::ResourceUpdated { uri: uri.to_owned() };
            assert_eq!(update(&mut told, &mut asked).await, updated);
        }
        connection.unsubscribe("note://1").await.unwrap();
        if era == EraChoice::Legacy {
            continue;
        }
        // The request for everything is replaced: the last one asks for what is left.
        while asked.last() != Some(&json!(["note://2"])) {
            asked.extend(listened(&logged(&mut told, "asked").await));
        }
        let all = json!(["note://1", "note://2"]);
        assert_eq!(asked, [Value::Null, json!(["note://1"]), all, json!(["note://2"])]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_watched_is_watched_again_after_a_restart() {
    let (config, mut told) = heard("features", EraChoice::Legacy);
    let upstream = Upstream::new(config);
    upstream.subscribe("note://1").await.unwrap();
    upstream.set_log_level(LogLevel::Error).await.unwrap();
    let first = upstream.connection().await.unwrap();
    first.close().await;
    while told.try_recv().is_ok() {}
    upstream.connection().await.unwrap();
    let level = logged(&mut told, "asked").await;
    let mut asked = vec![level];
    while asked.last().unwrap()["method"] != "resources/subscribe" {
        asked.push(logged(&mut told, "asked").await);
    }
    assert!(asked.iter().any(|one| one["params"]["level"] == "error"), "{asked:?}");
    upstream.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_level_of_the_log_is_asked_for_as_the_era_has_it() {
    let (legacy, mut told) = both("features", EraChoice::Legacy).await;
    legacy.set_log_level(LogLevel::Warning).await.unwrap();
    loop {
        let data = logged(&mut told, "asked").await;
        if data["method"] == "logging/setLevel" {
            assert_eq!(data["params"], json!({"level": "warning"}));
            break;
        }
    }
    let (modern, _told) = both("features_modern", EraChoice::Modern).await;
    let level = |value: &Value| value["meta"]["io.modelcontextprotocol/logLevel"].clone();
    let before = complete(&modern, CallRequest::read_resource("note://meta")).await;
    assert_eq!(level(&before), Value::Null);
    modern.set_log_level(LogLevel::Warning).await.unwrap();
    let after = complete(&modern, CallRequest::read_resource("note://meta")).await;
    assert_eq!(level(&after), "warning");
}

/// A connection whose requests are answered as `answer` says, and what it hears.
async fn answering(
    behaviour: &str,
    era: EraChoice,
    answer: impl Fn(ServerRequest) + Send + Sync + 'static,
) -> (Connection, Receiver<ServerNotification>) {
    let (mut config, told) = heard(behaviour, era);
    config.request_handler = Some(RequestHandler::new(answer));
    config.client_capabilities.insert("elicitation".to_owned(), json!({}));
    (connect_with(config).await.unwrap(), told)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_asks_is_answered_under_its_id() {
    let (connection, mut told) = answering("features", EraChoice::Legacy, |request| {
        assert_eq!(request.method, "elicitation/create");
        let asked = request.params["message"].clone();
        tokio::spawn(async move {
            request.responder.answer(Ok(json!({"action": "accept", "asked": asked})));
        });
    })
    .await;
    let declared = &connection.server().reply().value()["declared"];
    assert_eq!(*declared, json!({"elicitation": {}}));
    complete(&connection, request("ask", json!({"method": "elicitation/create"}))).await;
    let answer = logged(&mut told, "answer").await;
    assert_eq!(answer["id"], "s\"1");
    assert_eq!(answer["result"], json!({"action": "accept", "asked": "Which one?"}));
    complete(&connection, request("ask", json!({"method": "tasks/get"}))).await;
    assert_eq!(logged(&mut told, "answer").await["error"]["code"], -32601);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_its_server_takes_back_is_not_answered() {
    let (seen, cancelled) = channel();
    let (connection, mut told) = answering("features", EraChoice::Legacy, move |request| {
        let seen = seen.clone();
        tokio::spawn(async move {
            if request.method == "elicitation/create" && request.params == json!({}) {
                request.responder.cancelled().await;
                seen.send(()).unwrap();
            }
            request.responder.answer(Ok(json!({"action": "accept"})));
        });
    })
    .await;
    complete(&connection, request("give_up", json!({}))).await;
    tokio::task::block_in_place(|| cancelled.recv_timeout(LONG)).unwrap();
    complete(&connection, request("ask", json!({"method": "roots/list"}))).await;
    assert_eq!(logged(&mut told, "answer").await["id"], "s\"1", "the other one never came");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_asks_is_asked_again_with_the_answers() {
    let (mut config, _told) = heard("features_modern", EraChoice::Modern);
    config.request_handler = Some(RequestHandler::new(|request| {
        let answer = json!({"action": "accept", "to": request.params["message"]});
        request.responder.answer(match request.method.as_str() {
            "elicitation/create" => Ok(answer),
            _ => Ok(json!({"roots": []})),
        });
    }));
    let upstream = Upstream::new(config.clone());
    let CallOutcome::Complete(reply) = upstream.call(request("input", json!({}))).await.unwrap()
    else {
        panic!("not complete")
    };
    let answers = json!({"a": {"action": "accept", "to": "Who?"}});
    assert_eq!((&reply.value()["answers"], &reply.value()["state"]), (&answers, &json!("opaque")));
    let outcome = upstream.call(request("endless", json!({}))).await.unwrap();
    assert!(matches!(outcome, CallOutcome::InputRequired(_)), "it ends: {outcome:?}");
    upstream.close().await;
    // Without anybody to ask, the caller is told.
    let nobody = Upstream::new(UpstreamConfig { request_handler: None, ..config });
    let outcome = nobody.call(request("input", json!({}))).await.unwrap();
    assert!(matches!(outcome, CallOutcome::InputRequired(_)), "{outcome:?}");
    nobody.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_answer_ends_the_request_that_asked() {
    let (mut config, _told) = heard("features_modern", EraChoice::Modern);
    config.request_handler = Some(RequestHandler::new(|request| {
        request.responder.answer(Err(RpcError::new(-1, "the person said no")));
    }));
    let upstream = Upstream::new(config);
    let outcome = upstream.call(request("input", json!({}))).await.unwrap();
    assert!(matches!(outcome, CallOutcome::InputRequired(_)), "{outcome:?}");
    upstream.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_watches_a_bounded_number() {
    let (connection, _told) = both("features_modern", EraChoice::Modern).await;
    for n in 0..256 {
        connection.subscribe(&format!("note://{n}")).await.unwrap();
    }
    let error = connection.subscribe("note://more").await.unwrap_err();
    assert_eq!(error.code(), "mcp.too_many_subscriptions");
    assert!(error.is_unsent());
}
