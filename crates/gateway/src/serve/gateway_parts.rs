//! Opens documents, store and kernel, in this order. Nothing is served before all three are open.

use std::path::Path;
use std::sync::Arc;

use weaver_agent_kernel::{Kernel, Ports, Registry, Repairs, Settings};
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
use super::clock::BootTimeClock;
use super::confinement_signal::ConfinementSignalSource;
use super::error::ServeError;
use super::long_work::on_own_thread;
use super::own_tools;
use super::salt;
use super::timer::TokioTimer;
use crate::config::{self, Config, redaction, sentinel};
use crate::private_file;
use crate::publish::{CheckpointPublisher, PublishFailures, PublisherSettings, ReceiptClient};
use crate::telemetry::{ExportedResource, Exporter, SpanQueue, Telemetry};

/// The most bytes kept behind handles; the oldest results are dropped first.
const MAX_HANDLE_BYTES: u64 = 512 * 1024 * 1024;

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
    /// Reports how well the servers' processes are confined.
    pub(crate) confinement_signals: Arc<ConfinementSignalSource>,
    /// What opening the store found.
    pub(crate) open_report: weaver_trace_store::OpenReport,
    /// Updates the index of the log as long as it lives.
    pub(crate) index_updater: Option<IndexUpdater>,
    /// Signs the log and publishes checkpoints.
    pub(crate) publisher: Option<CheckpointPublisher>,
    /// Counts failures of the publisher.
    pub(crate) publish_failures: Option<Arc<PublishFailures>>,
    /// Issues receipts of calls, where the log is signed.
    pub(crate) receipts: Option<ReceiptClient>,
    /// The ledger and its retention rules.
    pub(crate) pruning: Option<(Arc<SqliteLedger>, Retention)>,
    /// The metrics and traces.
    pub(crate) telemetry: Arc<Telemetry>,
    /// Sends traces and metrics to a collector.
    pub(crate) exporter: Option<Exporter>,
}

/// The exporter to the collector of the configuration, if there is one.
fn open_exporter(
    config: &Config,
    instance: &str,
) -> Result<Option<(Exporter, SpanQueue)>, ServeError> {
    let Some(collector) = &config.telemetry.otlp else { return Ok(None) };
    let resource = ExportedResource { configured: &collector.attributes, instance };
    Ok(Some(Exporter::new(collector, resource)?))
}

pub(crate) fn open(config: &Config, options: ServeOptions) -> Result<GatewayParts, ServeError> {
    let ServeOptions { unsigned_development, log_key, launcher } = options;
    let clock: Arc<dyn Clock> = Arc::new(BootTimeClock::default());
    let random: Arc<dyn Random> = Arc::new(OsRandom);
    let policy = config::load_policy(
        config,
        config::SignatureChecks::unless(unsigned_development),
        clock.now(),
    )?;
    let principal = policy
        .principal(&config.principal)
        .ok_or_else(|| ServeError::Principal { id: config.principal.clone() })?;
    make_folders(config)?;
    let ledger = Arc::new(open_ledger(config, &clock, &random)?);
    let open_report = ledger.open_report();
    // A missing index only makes searches of the log slower.
    let index_updater = IndexUpdater::start(ledger.path()).ok();
    let publisher = open_publisher(
        config,
        &ledger,
        log_key,
        PublisherPorts { clock: &clock, random: &random },
    )?;
    let pruning = config.log.retention.clone().map(|rules| (Arc::clone(&ledger), rules));
    let settings = kernel_settings(config)?;
    let accepted = policy.high_water_batch(&settings.tenant, ledger.as_ref())?;
    ledger.commit(accepted).wait()?;
    let registry = Arc::new(Registry::new());
    let blobs = Arc::new(ledger.blobs());
    let salt = salt::load_or_create(ledger.as_ref(), &settings.tenant, random.as_ref())?;
    let (exporter, spans) = open_exporter(config, &salt::public_id(&salt))?.unzip();
    let telemetry = Arc::new(Telemetry::new(clock.now(), spans));
    let etag_observer = own_tools::etag_observer(config)?;
    let preconditions =
        LocalPreconditions::new(salt).in_folder(config.base()).with_etags(etag_observer);
    let firewall = redaction::firewall(&config.redaction_rules)?;
    let confinement_signals = Arc::new(ConfinementSignalSource::default());
    let signals = Arc::clone(&confinement_signals) as Arc<dyn SignalSource>;
    let ports = Ports {
        firewall: Some(firewall),
        preconditions: Some(Arc::new(preconditions)),
        signals: Arc::new(sentinel::signal_monitor(&config.sentinels, Some(signals))),
        long_work: Some(Arc::new(on_own_thread)),
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
        confinement_signals,
        open_report,
        index_updater,
        publish_failures: publisher.as_ref().map(CheckpointPublisher::failure_counts),
        receipts: publisher.as_ref().map(CheckpointPublisher::receipt_client),
        publisher,
        telemetry,
        exporter,
        pruning,
    })
}

/// Opens the ledger, and reports what was cut off at its end.
fn open_ledger(
    config: &Config,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn Random>,
) -> Result<SqliteLedger, ServeError> {
    let options = OpenOptions {
        random: Arc::clone(random),
        clock: Arc::clone(clock),
        holder: format!("the gateway of {}", config.file.display()),
        ..OpenOptions::default()
    };
    config.make_server_folders();
    let ledger = SqliteLedger::open(&config.store_path, options)?;
    let report = ledger.open_report();
    if report.torn_bytes > 0 {
        tracing::warn!(
            "{} ended in {} bytes of an unfinished commit; they were cut off, {} events are there",
            config.store_path.display(),
            report.torn_bytes,
            report.events
        );
    }
    Ok(ledger)
}

fn kernel_settings(config: &Config) -> Result<Settings, ServeError> {
    let handles = HandleBudget::default()
        .with_max_total_bytes(MAX_HANDLE_BYTES)
        .map_err(weaver_agent_kernel::KernelError::from)?;
    Ok(Settings {
        human_channel: false,
        session: config.session_budget.clone(),
        handles,
        placeholders: config.placeholders,
        view_mode: ResponseMode::Auto,
        frame_budget: frame_budget(config),
        // Some generators of schemas call an argument required although it has a default.
        repairs: Repairs { fill: true, ..Repairs::none() },
        ..Settings::default()
    })
}

/// Creates the folders of ledger, memory and inbox, private to this user. This happens before any
/// server is started, so that the folders can be hidden from it.
fn make_folders(config: &Config) -> Result<(), ServeError> {
    let memory = config.memory.as_ref().map(|memory| memory.file.as_path());
    let files = [Some(config.store_path.as_path()), memory].into_iter().flatten();
    let folders = files.filter_map(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    for folder in folders.chain([config.inbox.as_path()]) {
        private_file::create_folders(folder).map_err(|error| ServeError::Folder {
            path: folder.to_path_buf(),
            problem: error.to_string(),
        })?;
    }
    Ok(())
}

/// The token budget of one result.
fn frame_budget(config: &Config) -> FrameBudget {
    #[cfg(feature = "tiktoken")]
    let tokenizer = Tokenizer::O200k;
    #[cfg(not(feature = "tiktoken"))]
    let tokenizer = Tokenizer::Estimate;
    let defaults = FrameBudget { tokenizer, ..FrameBudget::default() };
    FrameBudget { max_tokens: config.frame_tokens.unwrap_or(defaults.max_tokens), ..defaults }
}

/// The clock and randomness of the publisher.
struct PublisherPorts<'a> {
    clock: &'a Arc<dyn Clock>,
    random: &'a Arc<dyn Random>,
}

fn open_publisher(
    config: &Config,
    ledger: &Arc<SqliteLedger>,
    key: Option<SigningKey>,
    ports: PublisherPorts<'_>,
) -> Result<Option<CheckpointPublisher>, ServeError> {
    let (Some(settings), Some(key)) = (&config.log.signing, key) else {
        tracing::info!(
            "checkpoints of the log are not signed: that needs a key under `[log]` in the configuration"
        );
        return Ok(None);
    };
    let settings = PublisherSettings { signing: settings.clone(), folder: config.base() };
    let (clock, random) = (Arc::clone(ports.clock), Arc::clone(ports.random));
    Ok(Some(CheckpointPublisher::new(Arc::clone(ledger), settings, key, clock, random)?))
}
