//! Preconditions under the kernel, with a real repository: what it was at when the call was
//! granted is what it is at when the call is made.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_agent_kernel::{
    Call, Caller, FnDriver, Kernel, Ports, PreconditionChecker, PreconditionError, Registry,
    block_on,
};
use weaver_drivers::http::{Access, EtagObserver, FileSecret, Method, Operation};
use weaver_drivers::precondition::LocalPreconditions;
use weaver_policy::{DocumentSource, DocumentSources, PolicySet};
use weaver_types::{
    CapabilityId, CapabilityRequest, Clock, Decision, Effects, OsRandom, Precondition, Principal,
    PrincipalId, RawResult, ReasonCode, ResponseMode, RunContext, RunSettings, SystemClock,
    ToolSpec,
};

use crate::raw_server::{self as server, RawServer, Reaction};
use crate::support::{here, runtime};

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

fn kernel(contracts: &str, checker: LocalPreconditions) -> Kernel {
    let sources = DocumentSources {
        policy: DocumentSource::unsigned("policy.toml", POLICY),
        contracts: DocumentSource::unsigned("contracts.toml", contracts),
        keys: DocumentSource::unsigned("keys.toml", KEYS),
    };
    let policy =
        PolicySet::load_unsigned_development(&sources, SystemClock::default().now()).unwrap();
    let ports = Ports { preconditions: Some(Arc::new(checker)), ..Ports::default() };
    let kernel = Kernel::builder(Registry::new(), policy).with_ports(ports).open().unwrap();
    let spec = ToolSpec::new("notes.write", "Writes").with_effects(Effects::WRITE_LOCAL);
    let driver = FnDriver::inline(|_| Ok(RawResult::text("written")));
    kernel.registry().register(spec.build().unwrap(), Arc::new(driver)).unwrap();
    kernel
}

/// The decision on a call of Ana's in whose time between grant and invocation something happens.
fn decision_after(kernel: &Kernel, arguments: &Value, between: &dyn Fn()) -> Decision {
    let clock = SystemClock::default();
    let run = RunContext::create(RunSettings::default(), &clock, &OsRandom).unwrap();
    let principal = Principal::new(PrincipalId::parse("ana").unwrap());
    let caller = Caller { run: &run, principal: &principal };
    let request = CapabilityRequest::new(CapabilityId::parse("notes.write").unwrap(), "note it");
    let mode = ResponseMode::Summary;
    let call = Call { request: &request, arguments: Some(arguments), mode };
    let token = block_on(kernel.grant(caller, call)).token.unwrap();
    between();
    block_on(kernel.invoke(caller, &token, arguments, mode)).decision
}

#[test]
fn a_repository_or_a_file_that_moved_refuses_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    git(folder.path(), &["init", "--quiet", "--initial-branch", "main"]);
    commit(folder.path());
    let kernel = kernel(CONTRACTS, LocalPreconditions::new([7; 32]));
    let arguments = json!({ "repository": folder.path(), "file": file });
    let outcome = |between: &dyn Fn()| decision_after(&kernel, &arguments, between);
    assert!(outcome(&|| {}).is_allowed());
    let moved = outcome(&|| commit(folder.path()));
    assert_eq!(moved.primary_reason(), ReasonCode::PreconditionFailed);
    assert!(moved.detail().contains("git_head"), "{}", moved.detail());
    let written = outcome(&|| std::fs::write(&file, "somebody was here").unwrap());
    assert_eq!(written.primary_reason(), ReasonCode::PreconditionFailed);
    assert!(written.detail().contains("expected absent"), "{}", written.detail());
    assert!(outcome(&|| {}).is_allowed());
}

/// A server whose answer to `HEAD` and `GET` can be changed, and an observer that knows it.
fn tagged(
    runtime: &tokio::runtime::Runtime,
    access: &Access,
) -> (RawServer, Arc<Mutex<(u16, String)>>, LocalPreconditions) {
    let state = Arc::new(Mutex::new((200, "etag: \"1\"\r\n".to_owned())));
    let told = Arc::clone(&state);
    let server = RawServer::start(runtime, move |asked| {
        let (status, headers) = told.lock().unwrap().clone();
        match asked.line() {
            line if line.contains("/mute") => Reaction::Silent,
            line if line.contains("/getonly") && line.starts_with("HEAD") => {
                server::answer("405 No", "", "")
            }
            line if line.contains("/gettoo") && line.starts_with("HEAD") => {
                server::answer("501 No", "", "")
            }
            line if line.contains("/away") => server::redirect(302, "http://169.254.169.254/x"),
            line if line.starts_with("HEAD") => {
                Reaction::Say(format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n"))
            }
            _ => server::answer(&format!("{status} X"), &headers, "a body of no interest"),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.keep().join("token");
    std::fs::write(&path, "hunter2-hunter2").unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let known = Operation::new(Method::Get, server.url("/")).with_secret(
        "Authorization",
        "Bearer ",
        FileSecret(path),
    );
    let web = EtagObserver::new().with_operation(&known, access).unwrap();
    (server, state, LocalPreconditions::new([7; 32]).with_etags(web))
}

#[test]
fn a_resource_that_changed_refuses_the_call() {
    let runtime = runtime();
    let (server, state, checker) = tagged(&runtime, &here());
    let contracts = format!(
        "kind = \"contracts\"\nformat = 1\nid = \"t\"\nversion = 1\n\
         [capabilities.\"notes.write\"]\n\
         preconditions = {{ check = \"http_etag\", url = \"{}\" }}\n",
        server.url("/docs/{id}")
    );
    let kernel = kernel(&contracts, checker);
    let arguments = json!({ "id": "a b", "text": "new" });
    let outcome = |between: &dyn Fn()| decision_after(&kernel, &arguments, between);
    assert!(outcome(&|| {}).is_allowed());
    assert!(server.asked().iter().all(|asked| asked.line() == "HEAD /docs/a%20b HTTP/1.1"));
    let moved = outcome(&|| state.lock().unwrap().1 = "etag: \"2\"\r\n".to_owned());
    assert_eq!(moved.primary_reason(), ReasonCode::PreconditionFailed);
    assert!(moved.detail().contains("expected \"1\", observed \"2\""), "{}", moved.detail());
    let gone = outcome(&|| state.lock().unwrap().0 = 404);
    assert_eq!(gone.primary_reason(), ReasonCode::PreconditionFailed);
    assert!(outcome(&|| {}).is_allowed(), "absent before, absent now");
    // What cannot be told is not unchanged.
    let untold = outcome(&|| *state.lock().unwrap() = (200, String::new()));
    assert_eq!(untold.primary_reason(), ReasonCode::PreconditionFailed);
    assert!(!format!("{moved:?} {untold:?}").contains("hunter2"));
    let asked = server.asked();
    assert_eq!(asked[0].header("authorization"), Some("Bearer hunter2-hunter2"));
}

#[test]
fn a_tag_is_asked_for_under_the_rules_of_the_driver() {
    let runtime = runtime();
    let (server, _, checker) = tagged(&runtime, &here());
    let see = |checker: &LocalPreconditions, url: String| {
        checker.observe(&Precondition::HttpEtag { url }, &json!({ "id": ".." }))
    };
    assert_eq!(see(&checker, server.url("/getonly")).unwrap(), "\"1\"");
    assert_eq!(see(&checker, server.url("/gettoo")).unwrap(), "\"1\"");
    let unreadable = |url: String, part: &str| match see(&checker, url) {
        Err(PreconditionError::Unreadable { problem, .. }) => {
            assert!(problem.contains(part), "{part}: {problem}");
        }
        other => panic!("{part}: {other:?}"),
    };
    unreadable(server.url("/away"), "http.scheme");
    unreadable(server.url("/{id}"), "lead out of it");
    unreadable("https://169.254.169.254/x".to_owned(), "http.address_refused");
    unreadable("http://example.com/x".to_owned(), "http.scheme");
    unreadable("{url}".to_owned(), "not fixed");
    // A host that no operation names has no more than what is public.
    let (stranger, ..) = tagged(&runtime, &here());
    unreadable(stranger.url("/x"), "http.address_refused");
    assert_eq!(stranger.asked().len(), 0);
    let hasty = Access { header_timeout: std::time::Duration::from_millis(200), ..here() };
    let (mute, _, checker) = tagged(&runtime, &hasty);
    assert!(see(&checker, mute.url("/mute")).is_err());
    let blind = LocalPreconditions::new([7; 32]);
    let unsupported = see(&blind, server.url("/x")).unwrap_err();
    assert_eq!(unsupported.code(), "precondition.unsupported");
}

#[test]
fn only_what_is_gone_is_absent_and_no_other_answer_is() {
    let runtime = runtime();
    let (server, state, checker) = tagged(&runtime, &here());
    let see = |status: u16| {
        state.lock().unwrap().0 = status;
        checker.observe(&Precondition::HttpEtag { url: server.url("/doc") }, &json!({}))
    };
    for status in [404, 410] {
        assert_eq!(see(status).unwrap(), "absent", "{status}");
    }
    for status in [400, 401, 403, 405, 409, 500, 501, 503] {
        match see(status) {
            Err(PreconditionError::Unreadable { problem, .. }) => {
                assert_eq!(problem, format!("status {status}"));
            }
            other => panic!("{status}: {other:?}"),
        }
    }
    assert_eq!(see(200).unwrap(), "\"1\"");
}

#[test]
fn each_host_is_asked_with_its_own_secret_and_no_other() {
    let runtime = runtime();
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        RawServer::start(&runtime, |_| {
            Reaction::Say("HTTP/1.1 200 X\r\nconnection: close\r\netag: \"1\"\r\n\r\n".to_owned())
        })
    };
    let (first, second, third) = (start(), start(), start());
    let known = |server: &RawServer, secret: Option<&str>| {
        let operation = Operation::new(Method::Get, server.url("/"));
        let Some(secret) = secret else { return operation };
        let path = folder.path().join(secret);
        std::fs::write(&path, secret).unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .unwrap();
        operation.with_secret("Authorization", "Bearer ", FileSecret(path))
    };
    let observer = [(&first, Some("one-one-one")), (&second, Some("two-two-two")), (&third, None)]
        .into_iter()
        .fold(EtagObserver::new(), |observer, (server, secret)| {
            observer.with_operation(&known(server, secret), &here()).unwrap()
        });
    let checker = LocalPreconditions::new([7; 32]).with_etags(observer);
    for server in [&third, &second, &first] {
        let precondition = Precondition::HttpEtag { url: server.url("/doc") };
        assert_eq!(checker.observe(&precondition, &json!({})).unwrap(), "\"1\"");
    }
    let sent = |server: &RawServer| {
        let all: Vec<Option<String>> = server
            .asked()
            .iter()
            .map(|asked| asked.header("authorization").map(str::to_owned))
            .collect();
        all
    };
    assert_eq!(sent(&first), [Some("Bearer one-one-one".to_owned())]);
    assert_eq!(sent(&second), [Some("Bearer two-two-two".to_owned())]);
    assert_eq!(sent(&third), [None]);
}
