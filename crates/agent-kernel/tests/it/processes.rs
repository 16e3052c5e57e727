//! Two processes, and one that dies inside a tool. This test binary runs itself as the child.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::{Caller, FnDriver, Kernel, Token, block_on};
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::LedgerError;
use weaver_types::{
    Clock, Effects, RawResult, ReasonCode, ResponseMode, RunContext, RunId, SystemClock,
};

use crate::support::{self, Asked, ana, draft, log, open_policy, parts, sqlite, succeeded};

const LEDGER: &str = "WEAVER_TEST_KERNEL_LEDGER";

/// A kernel on a file, whose tool does this.
fn opened(path: &Path, tool: impl Fn() + Send + Sync + 'static) -> Kernel {
    let clock = Arc::new(SystemClock::default()) as Arc<dyn Clock>;
    let kernel = parts(sqlite(path), clock, open_policy()).open().unwrap();
    let driver = FnDriver::inline(move |_| {
        tool();
        Ok(RawResult::text("done"))
    });
    let capability = draft("fs.write", Effects::WRITE_LOCAL).build().unwrap();
    kernel.registry().register(capability, Arc::new(driver)).unwrap();
    kernel
}

fn run() -> RunContext {
    let run = RunContext::create(
        weaver_types::RunSettings::default(),
        &SystemClock::default(),
        &weaver_types::OsRandom,
    );
    run.unwrap().with_run_id(RunId::parse("run_shared").unwrap())
}

fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n@ {what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// What the child does: uses one token, says it and one that is unused, then dies inside the tool.
#[test]
fn child() {
    let Ok(path) = std::env::var(LEDGER) else { return };
    let calls = std::sync::atomic::AtomicU32::new(0);
    let kernel = opened(Path::new(&path), move || {
        if calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) > 0 {
            say("inside");
            loop {
                std::thread::sleep(Duration::from_secs(60));
            }
        }
    });
    let (run, who, asked) = (run(), ana(), Asked::new("fs.write"));
    let caller = Caller { run: &run, principal: &who };
    let grant = || block_on(kernel.grant(caller, asked.call())).token.unwrap();
    let tokens = [grant(), grant(), grant()];
    for token in &tokens {
        say(&token.to_text());
    }
    for token in &tokens[..2] {
        let done = block_on(kernel.invoke(caller, token, &json!({}), ResponseMode::Table));
        assert!(succeeded(&done));
    }
}

fn start(path: &Path) -> Child {
    support::child("processes::child", LEDGER, path)
}

#[test]
fn a_second_process_is_refused_and_a_call_of_a_dead_one_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let mut child = start(&path);
    let out = BufReader::new(child.stdout.take().unwrap());
    let said = out.lines().map_while(Result::ok);
    let mut said = said.filter_map(|line| line.strip_prefix("@ ").map(str::to_owned));
    let tokens: Vec<Token> = said.by_ref().take(3).map(Token::from_text).collect();
    assert_eq!(said.next().as_deref(), Some("inside"));
    let second = SqliteLedger::open(&path, OpenOptions::default()).map(drop);
    assert!(matches!(second, Err(LedgerError::Locked { .. })), "{second:?}");
    child.kill().unwrap();
    child.wait().unwrap();

    let again = opened(&path, || panic!("nothing is executed here"));
    let count =
        |kind: &str| log(again.ledger().as_ref()).iter().filter(|event| event.kind == kind).count();
    assert_eq!((count("call.intent"), count("call.outcome")), (2, 1));
    assert_eq!(count("call.outcome_unknown"), 1, "the end of the second was seen by nobody");
    // The first was used and ended, the second was used and died, the third waited for its use.
    let (run, who) = (run(), ana());
    let caller = Caller { run: &run, principal: &who };
    for token in &tokens {
        let done = block_on(again.invoke(caller, token, &json!({}), ResponseMode::Table));
        assert_eq!(done.decision.primary_reason(), ReasonCode::TokenUsed);
    }
    assert_eq!(count("call.intent"), 2, "nothing ran again");
}
