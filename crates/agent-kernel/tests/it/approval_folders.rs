//! Approvals of calls whose arguments mean something else in another folder.

use std::sync::{Arc, Mutex};

use serde_json::json;
use weaver_agent_kernel::{
    AuthorizedCall, Driver, DriverError, Invocation, Ports, SignedFileOutcome,
};
use weaver_policy::approval::{SignedStandingApproval, StandingApproval};
use weaver_types::{BoxFuture, CapabilityDraft, Confidentiality, Effects, Integrity, Label};
use weaver_types::{RawResult, RunId, Verdict};

use crate::approval_standing::standing;
use crate::approvals::{ALICE, Desk, RULES, documents, key};
use crate::support::{Asked, START, draft, sqlite, succeeded};

/// Deletes in the folder in which its run works at that moment.
struct FolderDriver {
    now: Arc<Mutex<Option<&'static str>>>,
    deleted_in: Arc<Mutex<Vec<Option<String>>>>,
}

impl Driver for FolderDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        self.deleted_in.lock().unwrap().push(call.working_folder().map(str::to_owned));
        Box::pin(async { Ok(RawResult::text("done")) })
    }

    fn working_folder(&self, _run: &RunId) -> Option<String> {
        self.now.lock().unwrap().map(str::to_owned)
    }

    fn name(&self) -> &str {
        "folders"
    }
}

struct FolderDesk {
    desk: Desk,
    now: Arc<Mutex<Option<&'static str>>>,
    deleted_in: Arc<Mutex<Vec<Option<String>>>>,
}

impl FolderDesk {
    fn over(desk: Desk) -> Self {
        let (now, deleted_in) = (Arc::<Mutex<_>>::default(), Arc::<Mutex<_>>::default());
        let driver = FolderDriver { now: Arc::clone(&now), deleted_in: Arc::clone(&deleted_in) };
        let output_label = Label::new(Confidentiality::Public, Integrity::Trusted);
        let tool = CapabilityDraft { output_label, ..draft("git.clean", Effects::WRITE_OPEN) };
        desk.world.driven(tool, driver);
        Self { desk, now, deleted_in }
    }

    fn new() -> Self {
        Self::over(Desk::new())
    }

    fn clean_in(&self, folder: Option<&'static str>) -> Invocation {
        *self.now.lock().unwrap() = folder;
        self.desk.call(&clean())
    }
}

fn clean() -> Asked {
    Asked::new("git.clean").with(json!({ "remote": "origin", "path": "." }))
}

#[test]
fn an_approval_for_one_folder_releases_nothing_in_another() {
    let shell = FolderDesk::new();
    let id = shell.clean_in(Some("/srv/scratch")).request.unwrap();
    let shown = shell.desk.world.kernel.pending_approval(&id).unwrap().request;
    assert_eq!(shown.folder.as_deref(), Some("/srv/scratch"));
    assert!(shown.render().unwrap().contains("folder: \"/srv/scratch\""));
    shell.desk.grant(&id, "alice", ALICE);
    for other in [Some("/srv/precious"), None] {
        let held = shell.clean_in(other);
        assert_eq!(held.decision.verdict(), Verdict::Hold);
        assert_ne!(held.request, Some(id.clone()));
    }
    assert!(succeeded(&shell.clean_in(Some("/srv/scratch"))));
    assert_eq!(*shell.deleted_in.lock().unwrap(), [Some("/srv/scratch".to_owned())]);
}

#[test]
fn the_folder_of_a_request_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let desk = Desk::on(sqlite(&folder.path().join("ledger.db")), Ports::default());
    let shell = FolderDesk::over(desk);
    let id = shell.clean_in(Some("/srv/scratch")).request.unwrap();
    shell.desk.grant(&id, "alice", ALICE);
    let shell = FolderDesk::over(shell.desk.restarted(documents(RULES, "")));
    assert_eq!(shell.clean_in(Some("/srv/precious")).decision.verdict(), Verdict::Hold);
    assert!(succeeded(&shell.clean_in(Some("/srv/scratch"))));
}

#[test]
fn a_standing_approval_names_the_folders_in_which_it_counts() {
    let shell = FolderDesk::new();
    let sent = |folders: &[&str]| {
        let folders = folders.iter().map(|&folder| folder.to_owned()).collect();
        let standing = StandingApproval { folders, ..standing(&shell.desk, 5) };
        let envelopes = vec![standing.envelope(&key(ALICE), START).unwrap()];
        let file = SignedStandingApproval { standing, envelopes }.to_json().unwrap();
        let received = shell.desk.receive(&file);
        assert!(matches!(received, SignedFileOutcome::StandingAccepted { .. }), "{received:?}");
    };
    sent(&[]);
    assert_eq!(shell.clean_in(Some("/srv/scratch")).decision.verdict(), Verdict::Hold);
    assert!(succeeded(&shell.clean_in(None)), "where no folder matters, none is named");
    sent(&["/srv/scratch"]);
    assert!(succeeded(&shell.clean_in(Some("/srv/scratch"))));
    assert_eq!(shell.clean_in(Some("/srv/precious")).decision.verdict(), Verdict::Hold);
}
