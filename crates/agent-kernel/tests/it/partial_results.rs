//! Partial results as progress: lines and rows that are whole, and no part of one that is too long.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_agent_kernel::{Caller, FnDriver, block_on};
use weaver_types::{Effects, Progress, ProgressSink, RawChunk};

use crate::support::{Asked, World, ana, draft, open_policy, succeeded};

/// What is told of these chunks while the call goes on.
fn told(chunks: Vec<RawChunk>) -> Vec<Progress> {
    let world = World::new(open_policy());
    let driver = FnDriver::streaming(move |_, sender| {
        chunks.iter().try_for_each(|chunk| sender.send(chunk.clone()))
    });
    world.driven(draft("db.rows", Effects::READ_LOCAL), driver);
    let seen: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let (run, who, asked) = (world.run(), ana(), Asked::new("db.rows"));
    let caller = Caller { run: &run, principal: &who };
    let report: ProgressSink = Arc::new(move |report| sink.lock().unwrap().push(report));
    let done = block_on(world.kernel.execute_with_progress(caller, asked.call(), report));
    assert!(succeeded(&done), "{done:?}");
    let seen = seen.lock().unwrap();
    seen.clone()
}

/// The number of the last report, and how its message begins, where it has one.
fn last(chunk: RawChunk) -> Option<(f64, Option<String>)> {
    let report = told(vec![chunk]).pop()?;
    let message = report.message.map(|message| message.chars().take(5).collect());
    Some((report.progress, message))
}

fn text(text: impl Into<String>) -> RawChunk {
    RawChunk::Text(text.into())
}

#[test]
fn each_whole_line_and_each_row_is_counted() {
    let some = |count: f64, message: &str| Some((count, Some(message.to_owned())));
    assert_eq!(last(text("one\n")), some(1.0, "one"));
    assert_eq!(last(text("one\ntwo\n")), some(2.0, "two"));
    assert_eq!(last(text("one\ntwo\nthr")), some(2.0, "two"));
    assert_eq!(last(RawChunk::Bytes(b"one\ntwo\n".to_vec())), some(2.0, "two"));
    assert_eq!(last(text("half")), None);
    assert_eq!(last(text("one\n  \n")), Some((2.0, None)), "a blank line says nothing");
    assert_eq!(last(RawChunk::Json(json!("red"))), some(1.0, "red"));
    assert_eq!(last(RawChunk::Json(json!(["red", "blue"]))), some(2.0, "blue"));
    assert_eq!(last(RawChunk::Json(json!(4_711))), some(1.0, "4711"));
}

#[test]
fn of_a_line_or_a_row_of_4_096_bytes_or_more_nothing_is_told() {
    let said = |told: Option<(f64, Option<String>)>| told.unwrap().1.is_some();
    let row = |bytes: usize| last(RawChunk::Json(Value::String("x".repeat(bytes))));
    let line = |bytes: usize| last(text(format!("{}\n", "x".repeat(bytes))));
    assert!(said(line(4_095)) && !said(line(4_096)) && !said(line(9_000)));
    assert!(said(row(4_095)) && !said(row(4_096)) && !said(row(9_000)));
}

#[test]
fn a_line_goes_on_over_chunks() {
    let told = told(vec![text("on"), text("e\ntw"), text("o\n")]);
    let last = told.last().unwrap();
    assert_eq!((last.progress, last.message.as_deref()), (2.0, Some("two")));
}

#[test]
fn only_a_function_that_streams_tells_how_far_it_is() {
    use weaver_agent_kernel::Driver;
    use weaver_types::RawResult;
    let done = || Ok(RawResult::text("done"));
    assert!(FnDriver::streaming(|_, _| Ok(())).reports_progress());
    assert!(!FnDriver::asynchronous(move |_| std::future::ready(done())).reports_progress());
}
