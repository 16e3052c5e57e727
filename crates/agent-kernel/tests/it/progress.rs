//! Progress of a call: what of it is shown, and what the run takes on for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::{AuthorizedCall, Caller, Driver, DriverError, Invocation, block_on};
use weaver_types::{
    BoxFuture, Effects, Integrity, Progress, RawResult, ReasonCode, ResponseMode, RunContext,
};

use crate::support::{Asked, World, ana, draft, fold, log, open_policy, snapshot, succeeded};

/// A tool that tells how far it is, and then succeeds or fails.
#[derive(Clone)]
struct Telling {
    tells: bool,
    fails: bool,
    /// It was asked to tell.
    asked: Arc<AtomicBool>,
    /// A call of it, to be told of when it is over.
    last: Arc<Mutex<Option<AuthorizedCall>>>,
}

impl Driver for Telling {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        self.asked.store(call.wants_progress(), Ordering::SeqCst);
        *self.last.lock().unwrap() = Some(call.clone());
        Box::pin(async move {
            let message = Some("for jane.doe@corp.example.org".to_owned());
            call.report_progress(Progress { progress: 1.0, total: Some(2.0), message });
            // Another look, as when an answer takes its time.
            let mut looked = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                match std::mem::replace(&mut looked, true) {
                    true => std::task::Poll::Ready(()),
                    false => std::task::Poll::Pending,
                }
            })
            .await;
            call.report_progress(Progress { progress: 2.0, ..Progress::default() });
            match self.fails {
                true => Err(DriverError::Timeout(Duration::from_secs(1))),
                false => Ok(RawResult::text("done")),
            }
        })
    }

    fn reports_progress(&self) -> bool {
        self.tells
    }

    fn name(&self) -> &str {
        "telling"
    }
}

struct Scene {
    world: World,
    tool: Telling,
    run: RunContext,
    told: Arc<Mutex<Vec<Progress>>>,
}

impl Scene {
    fn new(tells: bool, fails: bool) -> Self {
        let world = World::new(open_policy());
        let tool = Telling { tells, fails, asked: Arc::default(), last: Arc::default() };
        world.driven(draft("web.fetch", Effects::READ_LOCAL), tool.clone());
        let run = world.run();
        Self { world, tool, run, told: Arc::default() }
    }

    /// Calls the tool; gives what was told by then.
    fn call(&self, mode: ResponseMode) -> (Invocation, Vec<Progress>) {
        let sink = Arc::clone(&self.told);
        let asked = Asked::new("web.fetch").mode(mode);
        let (who, kernel) = (ana(), &self.world.kernel);
        let caller = Caller { run: &self.run, principal: &who };
        let progress = Arc::new(move |progress| sink.lock().unwrap().push(progress));
        let done = block_on(kernel.execute_with_progress(caller, asked.call(), progress));
        (done, self.told())
    }

    fn told(&self) -> Vec<Progress> {
        self.told.lock().unwrap().clone()
    }

    /// Whether the run is tainted, by its record and by its events.
    fn is_tainted(&self) -> bool {
        let state = snapshot(self.world.ledger.as_ref(), &self.run.run_id).unwrap();
        assert_eq!(state, fold(self.world.ledger.as_ref(), &self.run.run_id));
        state.label.integrity == Integrity::Untrusted
    }
}

#[test]
fn what_a_tool_tells_is_masked_and_all_of_it_comes_before_the_result() {
    let scene = Scene::new(true, false);
    let (done, told) = scene.call(ResponseMode::Auto);
    assert!(succeeded(&done));
    let steps: Vec<_> = told.iter().map(|step| (step.progress, step.total)).collect();
    assert_eq!(steps, [(1.0, Some(2.0)), (2.0, None)]);
    assert_eq!(told[0].message.as_deref(), Some("for [EMAIL_1]"));
    assert_eq!(told[1].message, None);
    // What comes after the end reaches nobody.
    let call = scene.tool.last.lock().unwrap().take().unwrap();
    call.report_progress(Progress { progress: 9.0, ..Progress::default() });
    assert_eq!(scene.told().len(), 2);
}

#[test]
fn the_run_takes_on_the_label_before_a_word_is_shown_and_keeps_it_when_the_call_fails() {
    let scene = Scene::new(true, true);
    let (done, told) = scene.call(ResponseMode::Auto);
    assert!(!succeeded(&done) && told.len() == 2);
    let events = log(scene.world.ledger.as_ref());
    let intent = events.iter().find(|event| event.kind == "call.intent").unwrap();
    assert_eq!(intent.payload["run"]["label"]["integrity"], "untrusted");
    let outcome = events.iter().find(|event| event.kind == "call.outcome").unwrap();
    assert_eq!(outcome.payload["reason"], json!(ReasonCode::Timeout));
    assert_eq!(outcome.payload["run"]["label"]["integrity"], "untrusted", "{:?}", outcome.payload);
    assert!(scene.is_tainted());
}

#[test]
fn where_no_text_may_be_shown_there_are_numbers_only() {
    for mode in [ResponseMode::Summary, ResponseMode::HandleOnly] {
        let scene = Scene::new(true, true);
        let (_, told) = scene.call(mode);
        assert_eq!(told.len(), 2);
        assert!(told.iter().all(|step| step.message.is_none()), "{told:?}");
        assert!(!scene.is_tainted(), "nothing of the tool's was shown");
    }
}

#[test]
fn who_does_not_tell_is_not_asked_and_nobody_is_without_a_caller_who_listens() {
    let scene = Scene::new(false, true);
    let (_, told) = scene.call(ResponseMode::Auto);
    assert!(told.is_empty() && !scene.tool.asked.load(Ordering::SeqCst));
    assert!(!scene.is_tainted());
    let scene = Scene::new(true, true);
    scene.world.call(&scene.run, &ana(), &Asked::new("web.fetch"));
    assert!(!scene.tool.asked.load(Ordering::SeqCst) && !scene.is_tainted());
}
