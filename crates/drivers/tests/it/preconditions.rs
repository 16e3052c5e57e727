//! Preconditions under the kernel, with a real repository: what it was at when the call was
//! granted is what it is at when the call is made.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::json;
use weaver_agent_kernel::{
    Call, Caller, FnDriver, Kernel, KernelParts, KeyRing, Ports, Registry, Settings, ThreadTimer,
    block_on,
};
use weaver_drivers::precondition::LocalPreconditions;
use weaver_policy::{PolicySet, Source, Sources};
use weaver_trace_store::{MemoryBlobs, MemoryLedger};
use weaver_types::{
    CapabilityId, CapabilityRequest, Clock, Effects, LogId, OsRandom, Principal, PrincipalId,
    RawResult, ReasonCode, ResponseMode, RunContext, RunSettings, SystemClock, ToolSpec,
};

const POLICY: &str = "kind = \"policy\"\nformat = 1\nid = \"t\"\nversion = 1\n\
    [[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n";
const CONTRACTS: &str = "kind = \"contracts\"\nformat = 1\nid = \"t\"\nversion = 1\n\
    [capabilities.\"notes.write\"]\npreconditions = [\n\
      { check = \"git_head\", repository = { argument = \"/repository\" } },\n\
      { check = \"file_digest\", file = { argument = \"/file\" } },\n\
    ]\n";
const KEYS: &str = "kind = \"keys\"\nformat = 1\nid = \"t\"\nversion = 1\n";

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn commit(folder: &Path) {
    git(folder, &["commit", "--quiet", "--allow-empty", "-m", "a change"]);
}

fn kernel() -> Kernel {
    let random = Arc::new(OsRandom);
    let clock = Arc::new(SystemClock::default());
    let sources = Sources {
        policy: Source::unsigned("policy.toml", POLICY),
        contracts: Source::unsigned("contracts.toml", CONTRACTS),
        keys: Source::unsigned("keys.toml", KEYS),
    };
    let policy = PolicySet::load_unsigned_development(&sources, clock.now()).unwrap();
    let checker = LocalPreconditions::new([7; 32]);
    let kernel = Kernel::open(KernelParts {
        registry: Arc::new(Registry::new()),
        policy: Arc::new(policy),
        ledger: Arc::new(MemoryLedger::new(LogId::random(&OsRandom).unwrap(), random.clone())),
        blobs: Arc::new(MemoryBlobs::new([7; 32])),
        clock,
        random,
        timer: Arc::new(ThreadTimer),
        keys: KeyRing::fresh(&OsRandom).unwrap(),
        settings: Settings::default(),
        ports: Ports { preconditions: Some(Arc::new(checker)), ..Ports::default() },
    })
    .unwrap();
    let spec = ToolSpec::new("notes.write", "Writes").with_effects(Effects::WRITE_LOCAL);
    let driver = FnDriver::inline(|_| Ok(RawResult::text("written")));
    kernel.registry().register(spec.build().unwrap(), Arc::new(driver)).unwrap();
    kernel
}

#[test]
fn a_repository_or_a_file_that_moved_refuses_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    git(folder.path(), &["init", "--quiet", "--initial-branch", "main"]);
    commit(folder.path());
    let kernel = kernel();
    let clock = SystemClock::default();
    let run = RunContext::create(RunSettings::default(), &clock, &OsRandom).unwrap();
    let principal = Principal::new(PrincipalId::parse("ana").unwrap());
    let caller = Caller { run: &run, principal: &principal };
    let request = CapabilityRequest::new(CapabilityId::parse("notes.write").unwrap(), "note it");
    let arguments = json!({ "repository": folder.path(), "file": file });
    let mode = ResponseMode::Summary;
    let call = Call { request: &request, arguments: Some(&arguments), mode };
    let outcome = |between: &dyn Fn()| {
        let token = block_on(kernel.grant(caller, call)).token.unwrap();
        between();
        block_on(kernel.invoke(caller, &token, &arguments, mode)).decision
    };
    assert!(outcome(&|| {}).allowed());
    let moved = outcome(&|| commit(folder.path()));
    assert_eq!(moved.primary(), ReasonCode::PreconditionFailed);
    assert!(moved.detail().contains("git_head"), "{}", moved.detail());
    let written = outcome(&|| std::fs::write(&file, "somebody was here").unwrap());
    assert_eq!(written.primary(), ReasonCode::PreconditionFailed);
    assert!(written.detail().contains("expected absent"), "{}", written.detail());
    assert!(outcome(&|| {}).allowed());
}
