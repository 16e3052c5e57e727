//! Results bit by bit, under the kernel: programs by lines, HTTP answers by events, rows and lines.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use weaver_drivers::http::{Access, FileSecret, HttpDriver, Method, Operation};
use weaver_drivers::process::{OutputForm, ProcessConfig, ProcessDriver};
use weaver_types::{Frame, ResultStatus};

use crate::kernel::{cells, streamed};
use crate::raw_server::{RawServer, Reaction, answer};
use crate::support::{here, runtime};

fn shell(script: &str) -> ProcessConfig {
    ProcessConfig::new("/bin/sh").with_args(["-c", script])
}

/// The frames of a program, and whether it went well.
fn program(limit: u32, config: ProcessConfig) -> (Vec<Frame>, bool) {
    let runtime = runtime();
    let driver = ProcessDriver::new(config, runtime.handle().clone()).unwrap();
    let (frames, done) = streamed(limit, driver, &json!({}), |_| true);
    (frames, done.unwrap().result.unwrap().success)
}

fn warned(frames: &[Frame], kind: &str) -> bool {
    let last = frames.last().unwrap();
    last.warnings.iter().any(|warning| warning.kind == kind)
}

#[test]
fn lines_of_a_program_are_shown_while_it_runs() {
    let folder = TempDir::new().unwrap();
    let go = folder.path().join("go");
    // The program ends only when its first line was seen.
    let script = format!(
        "echo one is done; echo mail jane.roe@; echo corp.example.com; \
         while [ ! -e {} ]; do sleep 0.02; done; echo two is done",
        go.display()
    );
    let runtime = runtime();
    let driver = ProcessDriver::new(shell(&script), runtime.handle().clone()).unwrap();
    let (frames, done) = streamed(20_000, driver, &json!({}), |frame| {
        if cells(std::slice::from_ref(frame)).contains("one is done") {
            std::fs::write(&go, "").unwrap();
        }
        true
    });
    assert!(done.unwrap().result.unwrap().success && frames.len() > 1, "{frames:?}");
    let shown = cells(&frames);
    assert!(shown.starts_with("one is done") && shown.ends_with("two is done"), "{shown}");
}

#[test]
fn how_a_program_ended_stands_in_the_last_frame() {
    let (frames, success) = program(20_000, shell("echo out; echo oops >&2; exit 3"));
    assert!(!success && frames.last().unwrap().status == ResultStatus::Error, "{frames:?}");
    let shown = cells(&frames);
    assert!(shown.starts_with("out") && shown.contains("[exit code 3]oops"), "{shown}");
    let config = ProcessConfig { output_bytes: 10, ..shell("echo abcdefghijklmnopqrstuvwxyz") };
    let (frames, success) = program(20_000, config);
    assert!(success && cells(&frames) == "abcdefghij[cut: 10 of 27 bytes]", "{frames:?}");
    assert!(warned(&frames, "output_cut"));
    let (frames, success) = program(20_000, shell("echo begun; kill -9 $$"));
    assert!(!success && warned(&frames, "stream_failed"), "{frames:?}");
}

#[test]
fn a_program_that_keeps_writing_ends_with_the_time_of_its_call() {
    let (frames, success) = program(700, shell("while :; do echo tick; sleep 0.05; done"));
    assert!(!success && cells(&frames).contains("tick"), "{frames:?}");
    assert!(warned(&frames, "stream_timed_out") || warned(&frames, "stream_failed"), "{frames:?}");
}

#[test]
fn one_value_is_one_frame() {
    let config = ProcessConfig { output: OutputForm::Json, ..shell("echo '{\"answer\": 42}'") };
    let (frames, success) = program(20_000, config);
    assert!(success && frames.len() == 1, "{frames:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn who_reads_no_more_ends_the_program() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pid");
    let script =
        format!("echo $$ > {}; while :; do echo on and on; sleep 0.02; done", file.display());
    let runtime = runtime();
    let driver = ProcessDriver::new(shell(&script), runtime.handle().clone()).unwrap();
    let (frames, done) = streamed(60_000, driver, &json!({}), |_| false);
    assert!(frames.len() == 1 && done.is_none());
    let pid = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    let alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    };
    let gone = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        !alive()
    });
    assert!(gone);
}

/// An access that may connect to this machine, which is not public.
fn operation(url: String, kind: &str) -> Operation {
    let mut operation = Operation::new(Method::Get, url);
    operation.content = [kind.to_owned()].into();
    operation
}

const EVENTS: &str =
    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";

#[test]
fn events_are_shown_as_they_come_and_read_as_one_text() {
    let runtime = runtime();
    let (next, asked) = mpsc::channel();
    let (asked, closed) = (Arc::new(Mutex::new(asked)), Arc::<AtomicBool>::default());
    let event = |text: &str| format!("event: delta\ndata: {}\n\n", json!({ "t": text }));
    let pieces = vec![
        format!("{EVENTS}{}{}", event("we are on our "), event("way to mail jane.")),
        format!("{}{}", event("roe@cor"), event("p.example.com now")),
    ];
    let gone = Arc::clone(&closed);
    let server = RawServer::start(&runtime, move |_| {
        Reaction::Pieces(pieces.clone(), Arc::clone(&asked), Arc::clone(&gone))
    });
    let operation = operation(server.url("/"), "text/event-stream");
    let driver = HttpDriver::new(&operation, here(), runtime.handle().clone()).unwrap();
    next.send(()).unwrap();
    // The server sends its second piece when the first row was seen, and never ends.
    let (frames, done) = streamed(2_000, driver, &json!({}), |_| {
        let _ = next.send(());
        true
    });
    assert!(frames.len() > 1 && !done.unwrap().result.unwrap().success, "{frames:?}");
    let shown = cells(&frames);
    assert_eq!(shown, "we are on our way to mail [EMAIL_1] now");
    let gone = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        closed.load(Ordering::SeqCst)
    });
    assert!(gone, "the connection is closed with the call");
}

#[test]
fn rows_and_lines_of_an_answer_come_one_by_one_without_its_secrets() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, "hunter2-hunter2").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let get =
        |kind: &'static str, body: &'static str| {
            let runtime = runtime();
            let server = RawServer::start(&runtime, move |_| {
                answer("200 OK", &format!("content-type: {kind}\r\n"), body)
            });
            let operation = operation(server.url("/"), kind.split(';').next().unwrap())
                .with_secret("authorization", "Bearer ", FileSecret(file.clone()));
            let driver = HttpDriver::new(&operation, here(), runtime.handle().clone()).unwrap();
            let (frames, done) = streamed(20_000, driver, &json!({}), |_| true);
            (frames, done.unwrap().result.unwrap())
        };
    let (frames, result) = get("application/x-ndjson", "{\"id\": 1}\n\n{\"id\": 2}\n{\"id\": 3}");
    assert!(result.success && cells(&frames) == "123", "{frames:?}");
    let (frames, result) = get("text/plain", "you sent hunter2-hunter2\nand that is all");
    assert!(result.success && cells(&frames) == "you sent [secret]and that is all", "{frames:?}");
    assert!(warned(&frames, "secret_masked"));
    // What is not declared is refused here too.
    let runtime = runtime();
    let server =
        RawServer::start(&runtime, |_| answer("200 OK", "content-type: text/html\r\n", "x"));
    let operation = operation(server.url("/"), "text/plain");
    let driver = HttpDriver::new(&operation, here(), runtime.handle().clone()).unwrap();
    let (_, done) = streamed(20_000, driver, &json!({}), |_| true);
    let said = done.unwrap().result.unwrap().error_message;
    assert!(said.contains("http.content_type"), "{said}");
}

#[test]
fn an_answer_that_is_too_long_is_cut_off() {
    let runtime = runtime();
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\nbegun\n";
    let server = RawServer::start(&runtime, move |_| Reaction::Flood(head.to_owned()));
    let access = Access { max_response_bytes: 100_000, ..here() };
    let operation = operation(server.url("/"), "text/plain");
    let driver = HttpDriver::new(&operation, access, runtime.handle().clone()).unwrap();
    let (frames, done) = streamed(20_000, driver, &json!({}), |_| true);
    assert!(warned(&frames, "stream_failed"), "{frames:?}");
    let said = done.unwrap().result.unwrap().error_message;
    assert!(said.contains("http.too_large"), "{said}");
}
