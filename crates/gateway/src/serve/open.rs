//! Opens documents, store and kernel, in this order; nothing is served before all three are open.

use std::sync::Arc;

use weaver_agent_kernel::{Kernel, Ports, Registry, Settings};
use weaver_drivers::confine::Launcher;
use weaver_drivers::precondition::LocalPreconditions;
use weaver_firewall::handle::HandleBudget;
use weaver_firewall::{FrameBudget, Tokenizer};
use weaver_policy::signal::SignalSource;
use weaver_trace_store::index::IndexUpdater;
use weaver_trace_store::retention::Retention;
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::Ledger;
use weaver_types::signature::SigningKey;
use weaver_types::{Clock, OsRandom, Principal, Random, ResponseMode};

use super::ServeOptions;
use super::clock::WakingClock;
use super::confinement_signal::ConfinedChildren;
use super::error::ServeError;
use super::own_tools;
use super::salt;
use super::timer::TokioTimer;
use crate::config::{self, Config, redaction, sentinel};
use crate::publish::{CheckpointPublisher, PublisherSettings, ReceiptClient};
use crate::telemetry::{Exporter, Telemetry};

/// The most bytes that are kept behind handles; the oldest results go first.
const MAX_STORED: u64 = 512 * 1024 * 1024;

/// The parts from which a gateway is built.
pub(crate) struct GatewayParts {
    pub(crate) kernel: Kernel,
    pub(crate) registry: Arc<Registry>,
    pub(crate) principal: Principal,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) unsigned_development: bool,
    /// The program that confines the servers' processes.
    pub(crate) launcher: Launcher,
    /// How well the servers' processes are confined, as a source of signals.
    pub(crate) confined: Arc<ConfinedChildren>,
    /// What opening the store found.
    pub(crate) found: weaver_trace_store::OpenReport,
    /// Builds the index of the log behind it, as long as this lives.
    pub(crate) index: Option<IndexUpdater>,
    /// Signs the log and publishes checkpoints.
    pub(crate) keeper: Option<CheckpointPublisher>,
    /// Makes receipts of calls, where the log is signed.
    pub(crate) receipts: Option<ReceiptClient>,
    /// The ledger and what ends in it.
    pub(crate) pruning: Option<(Arc<SqliteLedger>, Retention)>,
    /// What is counted.
    pub(crate) telemetry: Arc<Telemetry>,
    /// Sends traces and metrics to a collector.
    pub(crate) exporter: Option<Exporter>,
}

pub(crate) fn open(config: &Config, options: ServeOptions) -> Result<GatewayParts, ServeError> {
    let ServeOptions { unsigned_development, log_key, launcher } = options;
    let clock: Arc<dyn Clock> = Arc::new(WakingClock::default());
    let random: Arc<dyn Random> = Arc::new(OsRandom);
    let policy = config::load_policy(
        config,
        config::SignatureChecks::unless(unsigned_development),
        clock.now(),
    )?;
    let principal = policy
        .principal(&config.principal)
        .ok_or_else(|| ServeError::Principal { id: config.principal.clone() })?;
    let open_options = OpenOptions {
        random: Arc::clone(&random),
        clock: Arc::clone(&clock),
        holder: format!("weaver serve --config {}", config.file.display()),
        ..OpenOptions::default()
    };
    make_folders(config)?;
    let ledger = Arc::new(SqliteLedger::open(&config.store, open_options)?);
    let found = ledger.opened();
    if found.cut > 0 {
        tracing::warn!(
            "{} ended in {} bytes of an unfinished commit; they were cut off, {} events are there",
            config.store.display(),
            found.cut,
            found.events
        );
    }
    // Without an index the log is scanned: it is no reason not to serve.
    let index = IndexUpdater::start(ledger.path()).ok();
    let keeper = keeper(config, &ledger, log_key, KeeperPorts { clock: &clock, random: &random })?;
    let (exporter, spans) = config.telemetry.otlp.as_ref().map(Exporter::new).transpose()?.unzip();
    let telemetry = Arc::new(Telemetry::new(clock.now(), spans));
    let pruning = config.log.retention.clone().map(|rules| (Arc::clone(&ledger), rules));
    let session = config.session.clone();
    let handles = HandleBudget::default()
        .with_max_total_bytes(MAX_STORED)
        .map_err(weaver_agent_kernel::KernelError::from)?;
    let settings = Settings {
        human_channel: false,
        session,
        handles,
        placeholders: config.placeholders,
        view_mode: ResponseMode::Auto,
        frame_budget: frame_budget(config),
        ..Settings::default()
    };
    let accepted = policy.high_water(&settings.tenant, ledger.as_ref())?;
    ledger.commit(accepted).wait()?;
    let registry = Arc::new(Registry::new());
    let blobs = Arc::new(ledger.blobs());
    let salt = salt::of(ledger.as_ref(), &settings.tenant, random.as_ref())?;
    let etags = own_tools::etags(config)?;
    let facts = LocalPreconditions::new(salt).in_folder(config.base()).with_web(etags);
    let firewall = redaction::firewall(&config.redaction)?;
    let confined = Arc::new(ConfinedChildren::default());
    let signals = Arc::clone(&confined) as Arc<dyn SignalSource>;
    let ports = Ports {
        firewall: Some(firewall),
        preconditions: Some(Arc::new(facts)),
        signals: Arc::new(sentinel::watch(&config.sentinels, Some(signals))),
        ..Ports::default()
    };
    let kernel = Kernel::builder(Arc::clone(&registry), policy)
        .with_store(ledger, blobs)
        .with_clock(Arc::clone(&clock))
        .with_random(Arc::clone(&random))
        .with_timer(Arc::new(TokioTimer))
        .with_settings(settings)
        .with_ports(ports)
        .open()?;
    Ok(GatewayParts {
        kernel,
        registry,
        principal,
        clock,
        random,
        unsigned_development,
        launcher,
        confined,
        found,
        index,
        receipts: keeper.as_ref().map(CheckpointPublisher::issuer),
        keeper,
        telemetry,
        exporter,
        pruning,
    })
}

/// Creates the folders of ledger and inbox, private to this user, before any server is
/// started, so that they can be kept from it.
fn make_folders(config: &Config) -> Result<(), ServeError> {
    let store = config.store.parent().filter(|folder| !folder.as_os_str().is_empty());
    for folder in store.into_iter().chain([config.inbox.as_path()]) {
        let mut make = std::fs::DirBuilder::new();
        make.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
        make.create(folder).map_err(|error| ServeError::Folder {
            path: folder.to_path_buf(),
            problem: error.to_string(),
        })?;
    }
    Ok(())
}

/// The budget of one result.
fn frame_budget(config: &Config) -> FrameBudget {
    #[cfg(feature = "tiktoken")]
    let tokenizer = Tokenizer::O200k;
    #[cfg(not(feature = "tiktoken"))]
    let tokenizer = Tokenizer::Estimate;
    let usual = FrameBudget { tokenizer, ..FrameBudget::default() };
    FrameBudget { max_tokens: config.frame_tokens.unwrap_or(usual.max_tokens), ..usual }
}

/// What the keeper takes from outside.
struct KeeperPorts<'a> {
    clock: &'a Arc<dyn Clock>,
    random: &'a Arc<dyn Random>,
}

fn keeper(
    config: &Config,
    ledger: &Arc<SqliteLedger>,
    key: Option<SigningKey>,
    ports: KeeperPorts<'_>,
) -> Result<Option<CheckpointPublisher>, ServeError> {
    let (Some(settings), Some(key)) = (&config.log.signing, key) else {
        tracing::warn!(
            "the log has no key (`[log]` in the configuration): no checkpoints are signed"
        );
        return Ok(None);
    };
    let settings = PublisherSettings { signing: settings.clone(), folder: config.base() };
    let (clock, random) = (Arc::clone(ports.clock), Arc::clone(ports.random));
    Ok(Some(CheckpointPublisher::new(Arc::clone(ledger), settings, key, clock, random)?))
}
