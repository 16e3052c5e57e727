//! Streams through the kernel: the gates of every call, bounded parts, one outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use serde_json::{Value, json};
use weaver_agent_kernel::{
    AuthorizedCall, CallStream, Caller, ChunkSender, ChunkSource, Driver, DriverError, FnDriver,
    Invocation, RevocationSubject, StreamSummary, Token, block_on,
};
use weaver_firewall::{HandleQuery, SessionBudget, StreamItem};
use weaver_types::ledger::Ledger;
use weaver_types::{
    BoxFuture, CapabilityDraft, CapabilityId, Effects, Frame, Millicents, Principal, ProgressSink,
    RawChunk, RawResult, ReasonCode, ResponseMode, ResultStatus, RunContext, Verdict,
};

use crate::support::{
    Asked, World, ana, answer, draft, fold, kinds, log, memory, open_policy, snapshot, succeeded,
};

const ID: &str = "db.rows";

fn row(n: usize) -> RawChunk {
    RawChunk::Json(json!({ "id": n, "open": true }))
}

fn waiting(effects: Effects, timeout_ms: u32) -> CapabilityDraft {
    CapabilityDraft { timeout_ms, ..draft(ID, effects) }
}

fn streaming(
    effects: Effects,
    f: impl Fn(&ChunkSender) -> Result<(), DriverError> + Send + Sync + 'static,
) -> World {
    streaming_on(memory(), effects, f)
}

fn streaming_on(
    ledger: Arc<dyn Ledger>,
    effects: Effects,
    f: impl Fn(&ChunkSender) -> Result<(), DriverError> + Send + Sync + 'static,
) -> World {
    let session = SessionBudget::from_counter_name("chars4").unwrap();
    let world = World::bounded(ledger, open_policy(), session);
    let executed = Arc::clone(&world.executed);
    let driver = FnDriver::streaming(move |_, sender| {
        executed.fetch_add(1, Ordering::SeqCst);
        f(sender)
    });
    world.driven(waiting(effects, 60_000), driver);
    world
}

/// One call, from its grant on.
struct Play<'w> {
    world: &'w World,
    run: RunContext,
    who: Principal,
    token: Token,
    arguments: Value,
    mode: ResponseMode,
}

impl<'w> Play<'w> {
    fn new(world: &'w World, mode: ResponseMode) -> Self {
        let (run, who) = (world.run(), ana());
        let asked = Asked::new(ID).mode(mode);
        let caller = Caller { run: &run, principal: &who };
        let grant = block_on(world.kernel.grant(caller, asked.call()));
        let token = grant.token.unwrap();
        Self { world, run, who, token, arguments: json!({}), mode }
    }

    fn caller(&self) -> Caller<'_> {
        Caller { run: &self.run, principal: &self.who }
    }

    fn stream(&self) -> CallStream<'_> {
        self.world.kernel.invoke_stream(self.caller(), &self.token, &self.arguments, self.mode)
    }

    /// Everything, to the end.
    fn whole(&self) -> (Vec<StreamItem>, Invocation) {
        let mut stream = self.stream();
        let mut items = Vec::new();
        while let Some(item) = block_on(stream.next()) {
            items.push(item);
        }
        (items, stream.invocation().unwrap().clone())
    }

    fn outcome(&self) -> Value {
        let last = log(self.world.ledger.as_ref()).pop().unwrap();
        json!({ "kind": last.kind, "payload": last.payload })
    }

    fn used(&self) -> u64 {
        self.world.kernel.token_session(&self.run).unwrap().used().into()
    }
}

fn tokens(items: &[StreamItem]) -> u64 {
    let json = |item: &StreamItem| serde_json::to_string(item.frame()).unwrap();
    items.iter().map(|item| json(item).chars().count().div_ceil(4) as u64).sum()
}

fn end(items: &[StreamItem]) -> &Frame {
    let Some(StreamItem::End(frame)) = items.last() else { panic!("no end in {items:?}") };
    assert!(items.iter().rev().skip(1).all(|item| matches!(item, StreamItem::Part(_))));
    frame
}

fn warned(frame: &Frame, kind: &str) -> bool {
    frame.warnings.iter().any(|warning| warning.kind == kind)
}

#[test]
fn rows_are_shown_as_they_come_with_one_intent_and_one_outcome() {
    let world =
        streaming(Effects::READ_LOCAL, |sender| (0..40).try_for_each(|n| sender.send(row(n))));
    let play = Play::new(&world, ResponseMode::Table);
    let (items, done) = play.whole();
    assert!(succeeded(&done) && items.len() > 2, "{items:?}");
    let ids: Vec<&Value> =
        items.iter().flat_map(|item| &item.frame().table).map(|row| &row["id"]).collect();
    assert!(ids.iter().enumerate().all(|(n, id)| **id == json!(n)), "{ids:?}");
    assert_eq!(done.result.as_ref().unwrap().data.as_ref(), Some(end(&items)));
    assert_eq!(kinds(world.ledger.as_ref()), ["run.started", "call.intent", "call.outcome"]);

    let stream = &play.outcome()["payload"]["stream"];
    assert_eq!((&stream["chunks"], &stream["complete"]), (&json!(40), &json!(true)));
    let folded = fold(world.ledger.as_ref(), &play.run.run_id);
    assert_eq!(snapshot(world.ledger.as_ref(), &play.run.run_id).unwrap(), folded);
    assert_eq!((folded.meters.prompt_tokens, play.used()), (tokens(&items), tokens(&items)));

    // The handle of the last frame stands for all of it.
    let handle = &end(&items).handle.as_ref().unwrap().handle_id;
    let query = HandleQuery { offset: 39, ..HandleQuery::default() };
    let view = block_on(world.kernel.expand(play.caller(), handle, &query));
    assert_eq!(view.result.unwrap().data.unwrap().table[0]["id"], 39);
}

#[test]
fn the_outcome_is_in_the_log_before_the_last_frame_is_seen() {
    let world = streaming(Effects::READ_LOCAL, |sender| sender.send(row(0)));
    let play = Play::new(&world, ResponseMode::Table);
    let mut stream = play.stream();
    let first = block_on(stream.next()).unwrap();
    assert!(matches!(first, StreamItem::Part(_)));
    // What was shown counts for the run, whatever comes.
    let label = snapshot(world.ledger.as_ref(), &play.run.run_id).unwrap().label;
    assert_eq!(label, first.frame().label);
    assert!(matches!(block_on(stream.next()), Some(StreamItem::End(_))));
    assert_eq!(play.outcome()["kind"], "call.outcome");
    assert!(block_on(stream.next()).is_none());
}

#[test]
fn what_cannot_stream_is_one_frame() {
    let world = World::new(open_policy());
    world.answering(draft(ID, Effects::READ_LOCAL), |_| Ok(RawResult::json(json!([{ "id": 1 }]))));
    let play = Play::new(&world, ResponseMode::Table);
    let (items, done) = play.whole();
    assert_eq!((items.len(), end(&items).is_final), (1, true));
    assert!(succeeded(&done));
    let (again, done) = play.whole();
    assert!(again.is_empty(), "the token is used");
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::TokenUsed));
    assert_eq!(world.executed(), 1);
}

#[test]
fn a_refused_stream_has_no_items_and_executes_nothing() {
    let world = streaming(Effects::READ_LOCAL, |sender| sender.send(row(0)));
    let mut play = Play::new(&world, ResponseMode::Table);
    play.arguments = json!({ "other": 1 });
    let (items, done) = play.whole();
    assert!(items.is_empty());
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::TokenScope));
    play.arguments = json!({});
    play.run.dry_run = true;
    let (items, done) = play.whole();
    assert!(items.is_empty() && done.decision.is_allowed() && done.result.is_none());
    assert_eq!(world.executed(), 0);
}

#[test]
fn silence_ends_a_stream_with_the_time_of_its_call_and_the_last_frame_says_so() {
    let (release, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let world = World::new(open_policy());
    let driver = FnDriver::streaming(move |_, sender| {
        sender.send(row(0))?;
        let _ = gate.lock().unwrap().recv();
        Ok(())
    });
    world.driven(waiting(Effects::READ_LOCAL, 500), driver);
    let play = Play::new(&world, ResponseMode::Table);
    let (items, done) = play.whole();
    let frame = end(&items);
    assert_eq!((items.len(), frame.status), (2, ResultStatus::Partial));
    assert!(warned(frame, "stream_timed_out"), "{frame:?}");
    assert!(!succeeded(&done));
    let outcome = play.outcome();
    assert_eq!(
        (&outcome["kind"], &outcome["payload"]["reason"]),
        (&json!("call.outcome"), &json!("timeout"))
    );
    assert_eq!(outcome["payload"]["stream"]["complete"], false);
    drop(release);
}

#[test]
fn an_error_in_the_middle_is_redacted_and_what_came_stays() {
    let world = streaming(Effects::READ_LOCAL, |sender| {
        sender.send(row(0))?;
        Err(DriverError::Failed("upstream: Bearer abcdefgh12345678 bob@corp.com".to_owned()))
    });
    let play = Play::new(&world, ResponseMode::Table);
    let (items, done) = play.whole();
    assert!(warned(end(&items), "stream_failed"));
    assert_eq!(end(&items).status, ResultStatus::Partial);
    let said = &done.result.as_ref().unwrap().error_message;
    assert!(!said.contains("bob@corp.com") && !said.contains("abcdefgh"), "{said}");
    assert_eq!(play.outcome()["payload"]["reason"], "execution_failed");
}

#[test]
fn a_function_that_panics_ends_its_stream() {
    let world = streaming(Effects::READ_LOCAL, |sender| {
        sender.send(row(0))?;
        panic!("on purpose")
    });
    let (items, done) = Play::new(&world, ResponseMode::Table).whole();
    assert!(warned(end(&items), "stream_failed") && !succeeded(&done));
}

fn endless() -> impl Fn(&ChunkSender) -> Result<(), DriverError> + Send + Sync {
    |sender| (0..).try_for_each(|n| sender.send(row(n)))
}

/// Waits until what was submitted stands in the log.
fn settled(world: &World, events: usize) -> Value {
    while log(world.ledger.as_ref()).len() < events {
        std::thread::yield_now();
    }
    let last = log(world.ledger.as_ref()).pop().unwrap();
    json!({ "kind": last.kind, "reason": last.payload["reason"] })
}

#[test]
fn who_goes_away_ends_the_call() {
    for (effects, kind, reason) in [
        (Effects::READ_LOCAL, "call.outcome", "cancelled"),
        (Effects::WRITE_LOCAL, "call.outcome_unknown", "outcome_unknown"),
    ] {
        let world = streaming(effects, endless());
        let play = Play::new(&world, ResponseMode::Table);
        let mut stream = play.stream();
        let first = block_on(stream.next()).unwrap();
        drop(stream);
        assert_eq!(settled(&world, 3), json!({ "kind": kind, "reason": reason }));
        let shown = tokens(std::slice::from_ref(&first));
        assert_eq!(play.used(), shown, "what was seen is charged, no more and no less");
        let session = world.kernel.token_session(&play.run).unwrap();
        assert_eq!(u64::from(session.remaining()), u64::from(session.total()) - shown);
        assert_eq!(fold(world.ledger.as_ref(), &play.run.run_id).meters.prompt_tokens, shown);
    }
}

#[test]
fn a_stream_that_keeps_sending_ends_with_the_time_of_its_call() {
    let world = World::new(open_policy());
    let clock = Arc::clone(&world.clock);
    let driver = FnDriver::streaming(move |_, sender| {
        (0..).try_for_each(|n| {
            // Each row by itself comes fast enough.
            clock.advance(std::time::Duration::from_millis(900));
            sender.send(row(n))
        })
    });
    world.driven(waiting(Effects::READ_LOCAL, 5_000), driver);
    let play = Play::new(&world, ResponseMode::Table);
    let (items, done) = play.whole();
    assert!(warned(end(&items), "stream_timed_out") && !succeeded(&done), "{items:?}");
    assert_eq!(end(&items).status, ResultStatus::Partial);
    let outcome = play.outcome();
    assert_eq!(outcome["payload"]["reason"], "timeout");
    assert!(outcome["payload"]["stream"]["chunks"].as_u64().unwrap() <= 6, "{outcome}");
}

/// A source that ends with this summary.
struct Summed(Option<RawChunk>, StreamSummary);

impl ChunkSource for Summed {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<RawChunk, DriverError>>> {
        Box::pin(std::future::ready(self.0.take().map(Ok)))
    }

    fn summary(&mut self) -> StreamSummary {
        self.1.clone()
    }
}

struct SummedDriver(StreamSummary);

impl Driver for SummedDriver {
    fn execute(&self, _: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        Box::pin(std::future::ready(Err(DriverError::Failed("not streamed".to_owned()))))
    }

    fn execute_stream(&self, _: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        Some(Box::new(Summed(Some(RawChunk::Text("step 1\n".to_owned())), self.0.clone())))
    }

    fn max_cost(&self, _: &CapabilityId) -> Millicents {
        Millicents(500)
    }

    fn name(&self) -> &str {
        "summed"
    }
}

fn summed(summary: StreamSummary) -> (Vec<StreamItem>, Invocation, Value) {
    let session = SessionBudget::from_counter_name("chars4").unwrap();
    let world = World::bounded(memory(), open_policy(), session);
    world.driven(waiting(Effects::READ_LOCAL, 60_000), SummedDriver(summary));
    let play = Play::new(&world, ResponseMode::Table);
    let (items, done) = play.whole();
    (items, done, play.outcome())
}

#[test]
fn a_tool_that_fails_in_its_stream_has_failed_and_what_it_cost_is_charged() {
    let summary = StreamSummary {
        is_error: true,
        findings: vec!["output_cut"],
        cost: Some(Millicents(300)),
        result: None,
    };
    let (items, done, outcome) = summed(summary);
    assert!(!succeeded(&done) && end(&items).status == ResultStatus::Error, "{items:?}");
    assert!(warned(end(&items), "output_cut"));
    assert_eq!(outcome["payload"]["reason"], "execution_failed");
    assert_eq!(outcome["payload"]["run"]["cost"], 300, "{outcome}");
}

#[test]
fn what_only_told_of_progress_is_not_behind_the_handle() {
    let whole = Some(RawResult::json(json!([{ "id": 42 }])));
    let session = SessionBudget::from_counter_name("chars4").unwrap();
    let world = World::bounded(memory(), open_policy(), session);
    let driver = SummedDriver(StreamSummary { result: whole, ..StreamSummary::default() });
    world.driven(waiting(Effects::READ_LOCAL, 60_000), driver);
    let play = Play::new(&world, ResponseMode::Table);
    let (items, done) = play.whole();
    assert!(succeeded(&done) && format!("{items:?}").contains("step 1"));
    let handle = &end(&items).handle.as_ref().unwrap().handle_id;
    let view = block_on(world.kernel.expand(play.caller(), handle, &HandleQuery::default()));
    assert_eq!(view.result.unwrap().data.unwrap().table[0]["id"], 42);
}

#[test]
fn a_value_that_is_spread_over_rows_is_in_no_frame_and_not_behind_the_handle() {
    let pieces = ["mail ja", "ne.roe@", "corp.example", ".com or call"];
    let world = streaming(Effects::READ_LOCAL, move |sender| {
        pieces.iter().try_for_each(|t| sender.send(RawChunk::Json(json!({ "t": t }))))
    });
    let (items, _) = Play::new(&world, ResponseMode::Table).whole();
    let seen = format!("{items:?}");
    assert!(
        !seen.contains("jane") && !seen.contains("ne.roe") && !seen.contains("corp.e"),
        "{seen}"
    );
    assert!(seen.contains("mail ") && seen.contains(" or call"), "{seen}");
}

#[test]
fn partial_results_are_progress_of_a_call_that_is_answered_in_one() {
    let world = streaming(Effects::READ_LOCAL, |sender| {
        sender.send(RawChunk::Text("mail jane.roe@corp.example.com\nhalf of a li".to_owned()))
    });
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let (run, who, asked) = (world.run(), ana(), Asked::new(ID));
    let caller = Caller { run: &run, principal: &who };
    let told: ProgressSink = Arc::new(move |report| sink.lock().unwrap().push(report));
    let done = block_on(world.kernel.execute_with_progress(caller, asked.call(), told));
    assert!(succeeded(&done));
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 1, "half of a line is none: {seen:?}");
    assert_eq!((seen[0].progress, seen[0].message.as_deref()), (1.0, Some("mail [EMAIL_1]")));
}

#[test]
fn a_tool_is_read_no_faster_than_its_frames_are_taken() {
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    let world = streaming(Effects::READ_LOCAL, move |sender| {
        (0..).try_for_each(|n| {
            sender.send(row(n))?;
            count.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
    });
    let play = Play::new(&world, ResponseMode::Table);
    let mut stream = play.stream();
    assert!(block_on(stream.next()).is_some());
    std::thread::yield_now();
    // The one that was shown, and what the queue holds.
    assert!(sent.load(Ordering::SeqCst) <= 6);
}

#[test]
fn a_revoked_grant_ends_its_stream() {
    let world = streaming(Effects::READ_LOCAL, endless());
    let play = Play::new(&world, ResponseMode::Table);
    let mut stream = play.stream();
    assert!(block_on(stream.next()).is_some());
    let subject = RevocationSubject::Principal(play.who.id.clone());
    world.clock.advance(std::time::Duration::from_secs(1));
    block_on(world.kernel.void_grants(subject, &play.who.id)).unwrap();
    let mut items = Vec::new();
    while let Some(item) = block_on(stream.next()) {
        items.push(item);
    }
    assert!(warned(end(&items), "stream_cancelled"), "{items:?}");
}

#[test]
fn whether_a_write_that_was_cut_off_took_effect_is_unknown() {
    for (effects, kind) in
        [(Effects::READ_LOCAL, "call.outcome"), (Effects::WRITE_LOCAL, "call.outcome_unknown")]
    {
        let world = streaming(effects, endless());
        let play = Play::new(&world, ResponseMode::Table);
        let mut stream = play.stream();
        assert!(block_on(stream.next()).is_some());
        let subject = RevocationSubject::Principal(play.who.id.clone());
        world.clock.advance(std::time::Duration::from_secs(1));
        block_on(world.kernel.void_grants(subject, &play.who.id)).unwrap();
        while block_on(stream.next()).is_some() {}
        assert_eq!(kinds(world.ledger.as_ref()).last().unwrap(), kind);
    }
}

#[test]
fn a_stream_that_a_crash_cut_off_is_unknown_and_charged_with_all_it_held() {
    let ledger = memory();
    let run = {
        let world = streaming_on(Arc::clone(&ledger), Effects::READ_LOCAL, endless());
        let play = Play::new(&world, ResponseMode::Table);
        let mut stream = play.stream();
        assert!(block_on(stream.next()).is_some());
        // As if the process had died: nothing is run that would end the call.
        std::mem::forget(stream);
        play.run
    };
    let again = streaming_on(Arc::clone(&ledger), Effects::READ_LOCAL, endless());
    assert_eq!(kinds(ledger.as_ref()).last().unwrap(), "call.outcome_unknown");
    let folded = fold(ledger.as_ref(), &run.run_id);
    assert_eq!(folded, snapshot(ledger.as_ref(), &run.run_id).unwrap());
    assert_eq!(folded.meters.prompt_tokens, u64::from(SessionBudget::DEFAULT_RESERVATION));
    assert_eq!(
        again.kernel.token_session(&run).unwrap().used(),
        SessionBudget::DEFAULT_RESERVATION
    );
    assert_eq!(again.executed(), 0, "it is not tried again");
}

#[test]
fn a_value_that_is_cut_between_chunks_is_in_no_frame_and_not_behind_the_handle() {
    let text = "mail jane.roe@corp.example.com or call\n".repeat(40);
    let pieces: Vec<String> =
        text.as_bytes().chunks(7).map(|b| String::from_utf8(b.to_vec()).unwrap()).collect();
    let world = streaming(Effects::READ_LOCAL, move |sender| {
        pieces.iter().try_for_each(|piece| sender.send(RawChunk::Text(piece.clone())))
    });
    let play = Play::new(&world, ResponseMode::Table);
    let (items, _) = play.whole();
    let handle = &end(&items).handle.as_ref().unwrap().handle_id;
    let view = block_on(world.kernel.expand(play.caller(), handle, &HandleQuery::default()));
    let seen = format!("{items:?}{view:?}");
    assert!(!seen.contains("jane.roe") && !seen.contains("corp.example"), "{seen}");
    assert!(seen.contains("[EMAIL_1] or call"), "{seen}");
}

#[test]
fn a_call_that_is_not_streamed_gets_the_chunks_as_one_result() {
    let world =
        streaming(Effects::READ_LOCAL, |sender| (0..3).try_for_each(|n| sender.send(row(n))));
    let done = world.call(&world.run(), &ana(), &Asked::new(ID));
    assert_eq!(done.result.unwrap().data.unwrap().table.len(), 3);
}
