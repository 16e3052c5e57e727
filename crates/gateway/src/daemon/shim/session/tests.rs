//! A session between a client and daemons that the test itself plays.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use super::super::open_requests::MAX_OPEN_REQUESTS;
use super::*;
use crate::daemon::hello::{Welcome, WelcomeOutcome};
use crate::serve::DRAINING_METHOD;

/// What the client has read.
#[derive(Clone, Default)]
struct ClientOutput(Arc<Mutex<Vec<u8>>>);

impl Write for ClientOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A session that a client has begun, with every daemon that it reached.
struct Shim {
    session: Session,
    output: ClientOutput,
    daemons: Receiver<UnixStream>,
}

impl Shim {
    fn connected() -> Self {
        let (sender, daemons) = channel();
        let connect = move |mode| {
            if mode == ConnectMode::ExistingOnly {
                return Err(DaemonError::NotRunning);
            }
            let (shim, daemon) = UnixStream::pair().unwrap();
            sender.send(daemon).unwrap();
            let (writer, reader) = (shim.try_clone().unwrap(), BufReader::new(shim));
            let welcome = Welcome::new(WelcomeOutcome::Session);
            Ok(DaemonConnection { writer, reader, welcome })
        };
        let output = ClientOutput::default();
        let session = Session::new(Box::new(connect), Box::new(output.clone()));
        session.connect_early();
        Self { session, output, daemons }
    }

    fn client_sends(&self, line: &str) {
        let fed = self.session.handle_client_line(format!("{line}\n").as_bytes());
        assert_eq!(fed, FeedOutcome::Accepted);
    }

    fn daemon_sends(&self, line: &str) {
        self.session.forward_answer(format!("{line}\n").as_bytes());
    }

    /// The lines that the client has read.
    fn client_lines(&self) -> Vec<Value> {
        let bytes = self.output.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What the next daemon was sent so far.
    fn sent_to_next_daemon(&self) -> String {
        let mut daemon = self.daemons.try_recv().expect("a connection");
        daemon.set_nonblocking(true).unwrap();
        let mut sent = Vec::new();
        let _ = daemon.read_to_end(&mut sent);
        String::from_utf8(sent).unwrap()
    }
}

fn request(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#)
}

fn cancellation(id: &str) -> String {
    let params = format!(r#"{{"requestId":{id}}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#)
}

#[test]
fn a_call_that_a_stopped_daemon_left_unanswered_may_have_run() {
    let shim = Shim::connected();
    shim.client_sends(&request("1", "tools/call"));
    shim.client_sends(&request("2", "tools/list"));
    shim.client_sends(&request("3", "resources/read"));
    shim.daemon_sends(&format!(
        r#"{{"method":"{DRAINING_METHOD}","params":{{"then":"stopped"}}}}"#
    ));
    shim.session.connection_ended();
    let answers = shim.client_lines();
    let answer = |id: u32| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(answer(1)["result"]["_meta"]["weaver/reason"], "outcome_unknown", "{answers:?}");
    for id in [2, 3] {
        assert_eq!(answer(id)["error"]["data"]["code"], "daemon.not_running", "{answers:?}");
    }
    // This one reached no daemon.
    shim.client_sends(&request("4", "tools/call"));
    let refused = shim.client_lines().pop().unwrap();
    assert_eq!((&refused["id"], refused["error"].is_object()), (&json!(4), true), "{refused}");
}

#[test]
fn a_lost_task_is_asked_about_again_and_nobody_is_told_that_its_call_did_not_run() {
    let (reads, changes) =
        (["tasks/get", "tasks/list", "tasks/result"], ["tasks/cancel", "tasks/update"]);
    let shim = Shim::connected();
    for (id, method) in reads.into_iter().chain(changes).enumerate() {
        shim.client_sends(&request(&id.to_string(), method));
    }
    shim.sent_to_next_daemon();
    shim.session.connection_ended();
    assert_eq!(shim.client_lines().len(), changes.len());
    let again = shim.sent_to_next_daemon();
    assert!(reads.iter().all(|method| again.contains(method)), "{again}");
    shim.daemon_sends(&format!(
        r#"{{"method":"{DRAINING_METHOD}","params":{{"then":"stopped"}}}}"#
    ));
    shim.session.connection_ended();
    let answers = shim.client_lines();
    assert_eq!(answers.len(), reads.len() + changes.len(), "{answers:?}");
    for answer in answers {
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("may have run"), "{answer}");
        assert!(!message.contains("No tool was called"), "{answer}");
    }
}

#[test]
fn a_cancelled_request_is_neither_answered_nor_sent_again() {
    let shim = Shim::connected();
    for (id, cancelled) in [("1", "1"), (r#""a\/b""#, r#""a/b""#)] {
        shim.client_sends(&request(id, "tools/call"));
        shim.client_sends(&cancellation(cancelled));
    }
    shim.client_sends(&request("2", "tools/list"));
    shim.client_sends(&cancellation("2"));
    shim.client_sends(&request("3", "tools/list"));
    shim.sent_to_next_daemon();
    shim.session.connection_ended();
    assert_eq!(shim.client_lines(), [] as [Value; 0]);
    assert_eq!(shim.sent_to_next_daemon(), format!("{}\n", request("3", "tools/list")));
}

#[test]
fn an_answer_is_known_by_its_id_however_that_is_written() {
    let shim = Shim::connected();
    shim.client_sends(&request(r#""a\/b\u0063""#, "tools/call"));
    shim.daemon_sends(r#"{"jsonrpc":"2.0","id":"a/bc","result":{}}"#);
    // The daemon answers these at once, and under no id.
    for id in ["null", "1.5", "{}"] {
        shim.client_sends(&request(id, "tools/call"));
    }
    shim.session.connection_ended();
    assert_eq!(shim.client_lines(), [json!({"jsonrpc": "2.0", "id": "a/bc", "result": {}})]);
}

#[test]
fn cancelled_requests_leave_room_for_others() {
    let shim = Shim::connected();
    for id in 0..2 * MAX_OPEN_REQUESTS {
        // What the client sends does not matter here, and would fill the connection.
        let id = id.to_string();
        let mut state = shim.session.state();
        state.note_request(request(&id, "tools/call").as_bytes());
        state.note_request(cancellation(&id).as_bytes());
    }
    shim.client_sends(&request("\"last\"", "tools/call"));
    shim.session.connection_ended();
    let answers = shim.client_lines();
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["id"], "last");
}
