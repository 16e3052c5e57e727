//! A gateway's ledger with held calls, written by a real kernel, and people with real key files.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use weaver_agent_kernel::{
    Call, Caller, Invocation, Kernel, Registry, SignedFileOutcome, block_on,
};
use weaver_gateway::config;
use weaver_gateway::secret::{KdfCosts, KeyFile, Passphrase};
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{Batch, Durability, Ledger, Namespace, RecordKey, RecordWrite};
use weaver_types::{
    AllowedAgents, CapabilityDraft, CapabilityId, CapabilityRequest, Clock, Confidentiality,
    Effects, Integrity, KeyId, Label, OsRandom, Principal, PrincipalId, RawResult, ResponseMode,
    RunContext, RunSettings, SystemClock, Tenant, Timestamp,
};

use crate::support::{Folder, Run, weaver_with};

pub(crate) const PASSPHRASE: &str = "correct horse\n";

/// Who there is: two of finance, of whom one is an operator; one whom nobody trusts much; the
/// owner of the process; one whose key is over; and one whom the keys document does not know.
pub(crate) const PEOPLE: [&str; 6] = ["alice", "bob", "low", "olga", "past", "mallory"];

/// Key files are costly to make, even with the lowest costs, and no test changes one.
static FILES: LazyLock<Vec<KeyFile>> = LazyLock::new(|| {
    let passphrase = Passphrase::new(PASSPHRASE.to_owned().into()).unwrap();
    PEOPLE
        .iter()
        .map(|name| {
            let id = KeyId::parse(name).unwrap();
            KeyFile::generate_at(KdfCosts::LOWEST, id, &passphrase, &OsRandom)
        })
        .map(|made| made.unwrap().0)
        .collect()
});

const RULES: &str = r#"
[[rules]]
name = "all"
match = {}
effect = "allow"

[[rules]]
name = "two"
match = { capability = "pay.*" }
effect = "require_approval"
authority = { quorum = 2, min_trust = 500, scopes = ["finance"] }

[[rules]]
name = "lead"
match = { capability = "deploy.*" }
effect = "require_approval"
authority = { roles = ["cfo", "release_lead"] }

[approvals.floor]
min_trust = 300
"#;

pub(crate) fn keys() -> String {
    let more = [
        ("alice", 900, "scopes = [\"finance\"]\nroles = [\"release_lead\"]\noperator = true"),
        ("bob", 900, "scopes = [\"finance\"]"),
        ("low", 100, "scopes = [\"finance\"]"),
        ("olga", 900, "scopes = [\"finance\"]\nprincipals = [\"owner\"]"),
        ("past", 900, "scopes = [\"finance\"]\nnot_after = 2020-01-01T00:00:00Z"),
    ];
    let people = more.iter().zip(FILES.iter()).map(|((name, trust, more), file)| {
        let key = file.public();
        format!(
            "[approvers.{name}]\nkey = \"{key}\"\ntrust = {trust}\nclearance = \"restricted\"\n{more}\n"
        )
    });
    people.collect()
}

/// The key file of this person.
pub(crate) fn key_file(who: &str) -> String {
    let place = PEOPLE.iter().position(|name| *name == who).unwrap();
    FILES[place].to_json().unwrap()
}

pub(crate) struct Desk {
    pub(crate) folder: Folder,
    pub(crate) kernel: Kernel,
    pub(crate) ledger: Arc<SqliteLedger>,
    pub(crate) run: RunContext,
    executed: Arc<AtomicU64>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::at(Arc::new(SystemClock::default()))
    }

    /// With a gateway whose clock is this one.
    pub(crate) fn at(clock: Arc<dyn Clock>) -> Self {
        let folder = Folder::new();
        for who in PEOPLE {
            folder.write(&format!("{who}.key"), &key_file(who));
        }
        folder.append("policy/policy.toml", RULES);
        folder.append("policy/keys.toml", &keys());
        ["policy", "keys"].iter().for_each(|kind| folder.sign(kind));
        let settings = config::load(folder.path("weaver.toml")).unwrap();
        let policy =
            config::load_policy(&settings, config::SignatureChecks::Required, clock.now()).unwrap();
        let options = OpenOptions { clock: Arc::clone(&clock), ..OpenOptions::default() };
        let ledger =
            Arc::new(SqliteLedger::open(folder.path(".weaver/ledger.db"), options).unwrap());
        let run = RunContext::create(RunSettings::default(), clock.as_ref(), &OsRandom).unwrap();
        let own = Arc::clone(&ledger) as Arc<dyn Ledger>;
        let kernel = Kernel::builder(Registry::new(), policy)
            .with_store(own, Arc::new(ledger.blobs()))
            .with_clock(clock)
            .open();
        let desk = Self { folder, kernel: kernel.unwrap(), ledger, run, executed: Arc::default() };
        for id in ["repo.push", "pay.send", "deploy.run"] {
            desk.register(id, Effects::WRITE_OPEN);
        }
        desk.register("notes.write", Effects::WRITE_LOCAL);
        desk
    }

    fn register(&self, id: &str, effects: Effects) {
        let id = CapabilityId::parse(id).unwrap();
        let draft = CapabilityDraft {
            description: "a capability".to_owned(),
            output_label: Label::new(Confidentiality::Internal, Integrity::Trusted),
            ..CapabilityDraft::new(id.clone(), id.as_str(), effects, AllowedAgents::Any)
        };
        let executed = Arc::clone(&self.executed);
        let driver = weaver_agent_kernel::FnDriver::inline(move |call| {
            executed.fetch_add(1, Ordering::SeqCst);
            Ok(RawResult::json(Value::Object(call.arguments().clone())))
        });
        self.kernel.registry().register(draft.build().unwrap(), Arc::new(driver)).unwrap();
    }

    pub(crate) fn call(&self, capability: &str, arguments: &Value) -> Invocation {
        let principal = Principal::new(PrincipalId::parse("owner").unwrap());
        let request = CapabilityRequest::new(CapabilityId::parse(capability).unwrap(), "a goal");
        let call =
            Call { request: &request, arguments: Some(arguments), mode: ResponseMode::Summary };
        block_on(self.kernel.execute(Caller { run: &self.run, principal: &principal }, call))
    }

    /// Whether the call is executed.
    pub(crate) fn goes_through(&self, capability: &str, arguments: &Value) -> bool {
        self.call(capability, arguments).result.is_some_and(|result| result.success)
    }

    /// Makes a call that is held, and gives the id of its request.
    pub(crate) fn held(&self, capability: &str, arguments: &Value) -> String {
        let done = self.call(capability, arguments);
        let request = done.request.as_ref().unwrap_or_else(|| panic!("{done:?}"));
        request.as_str().to_owned()
    }

    pub(crate) fn push(&self) -> String {
        self.held("repo.push", &json!({ "branch": "main" }))
    }

    pub(crate) fn executed(&self) -> u64 {
        self.executed.load(Ordering::SeqCst)
    }

    /// `weaver approve` with the configuration of this folder.
    pub(crate) fn approve(&self, args: &[&str]) -> Run {
        let config = self.folder.arg("weaver.toml");
        let mut all = vec!["approve"];
        all.extend(args);
        all.extend(["--config", &config]);
        weaver_with(&all, "")
    }

    /// The same, signed by this person without a question, for a script.
    pub(crate) fn signed(&self, who: &str, args: &[&str]) -> Run {
        self.signed_with(who, args, PASSPHRASE)
    }

    pub(crate) fn signed_with(&self, who: &str, args: &[&str], passphrase: &str) -> Run {
        let (config, key) =
            (self.folder.arg("weaver.toml"), self.folder.arg(&format!("{who}.key")));
        let mut all = vec!["approve"];
        all.extend(args);
        all.extend(["--config", &config, "--key", &key, "--passphrase-fd", "0", "--yes", "--json"]);
        weaver_with(&all, passphrase)
    }

    /// The files of the inbox, in the order of their names.
    pub(crate) fn inbox(&self) -> Vec<std::path::PathBuf> {
        let entries = fs::read_dir(self.folder.path(".weaver/inbox"));
        let mut paths: Vec<_> =
            entries.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    /// Takes in what lies in the inbox, as the gateway does.
    pub(crate) fn deliver(&self) -> Vec<SignedFileOutcome> {
        let take = |path: &std::path::PathBuf| {
            let received = block_on(self.kernel.receive_signed_file(&fs::read(path).unwrap()));
            fs::remove_file(path).unwrap();
            received
        };
        self.inbox().iter().map(take).collect()
    }

    /// Writes a record by hand, past the kernel.
    pub(crate) fn plant(&self, namespace: Namespace, id: &str, value: &[u8]) {
        let mut batch = Batch::new(Durability::Disk);
        let key = RecordKey::new(Tenant::default(), namespace, id);
        batch.put.push(RecordWrite { key, value: value.to_vec(), expires_at: None });
        self.ledger.commit(batch).wait().unwrap();
    }

    /// The record of a request, as JSON.
    pub(crate) fn record(&self, id: &str) -> Value {
        let key = RecordKey::new(Tenant::default(), Namespace::Hold, id);
        let record = self.ledger.read(&key).unwrap().unwrap();
        serde_json::from_slice(&record.value).unwrap()
    }
}

pub(crate) fn now() -> Timestamp {
    SystemClock::default().now()
}

/// The lines of JSON that a command printed.
pub(crate) fn lines(run: &Run) -> Vec<Value> {
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The code of the failure that a command with `--json` told.
pub(crate) fn failed(run: &Run) -> (i32, String) {
    let failure: Value =
        serde_json::from_str(&run.err).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    (run.code, failure["code"].as_str().unwrap().to_owned())
}
