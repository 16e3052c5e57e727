//! `weaver daemon`, `status`, `stop` and `restart`.

pub(super) mod logs;
pub(super) mod restart;
mod status;
mod successor;

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum as _};
use serde_json::json;
use weaver_gateway::canonical_path;
use weaver_gateway::config::{self, Config, DEFAULT_FILE_NAME, NO_CONFIG_REMEDY};
use weaver_gateway::daemon::{
    self, DaemonCommand, DaemonEnd, DaemonError, DaemonExitReason, DaemonOptions, DaemonProcess,
};
use weaver_gateway::secret::Passphrase;
use weaver_gateway::serve::{AfterShutdown, ServeOptions};
use weaver_text::escape;
use zeroize::Zeroizing;

pub(super) use self::status::{running_in_spite_of, status};
use super::serve::{LogPassphrase, StartOptions};
use super::shared_args::{ConfigArg, JsonFlag};
use super::{Exit, Failure, config_path, logging, output, serve};
use crate::output::OutputFormat;

#[derive(Debug, Args)]
pub(super) struct Daemon {
    #[command(flatten)]
    pub(super) config: ConfigArg,
    #[command(flatten)]
    pub(super) start: StartOptions,
    /// Serve clients over HTTP at this loopback address too, or in place of the one under `[http]`:
    /// `127.0.0.1:8700`
    #[arg(long, value_name = "ADDRESS")]
    pub(super) http: Option<String>,
    /// Stop after this many seconds without a client
    #[arg(long, value_name = "SECONDS")]
    pub(super) idle_exit: Option<u64>,
    /// Print one line of JSON to standard output when clients can connect
    #[arg(long, hide = true)]
    pub(super) started_by_client: bool,
}

#[derive(Debug, Args)]
pub(super) struct DaemonArgs {
    #[command(flatten)]
    pub(super) config: ConfigArg,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

/// Seconds without a client after which a daemon that a client started ends.
const IDLE_EXIT_SECONDS: u64 = 60;
/// The pause before a store that could not be opened again is tried once more.
const REOPEN_INTERVAL: Duration = Duration::from_secs(5);
/// The longest passphrase that is handed to the daemon, in bytes.
#[cfg(unix)]
const MAX_PASSPHRASE_BYTES: u64 = 4096;

pub(super) fn run(args: &Daemon) -> Result<Exit, Failure> {
    #[cfg(target_os = "linux")]
    super::huge_pages::enable();
    daemon::end_servers_with_process()
        .map_err(|error| Failure::new(Exit::Internal, error.code(), error))?;
    match args.started_by_client {
        false => run_until_stopped(args, || {
            match args.start.log_format.output_format() {
                OutputFormat::Json => tracing::info!("clients can connect"),
                OutputFormat::Text => output::stderr("weaver: ready\n"),
            }
            notify_ready();
        }),
        true => {
            daemon::leave_session();
            let result = run_until_stopped(args, || {
                // The client that started the daemon may have ended; then nobody reads this line.
                let _ = output::line(&DaemonCommand::ready_line());
                let _ = daemon::detach_output();
            });
            if let Err(failure) = &result {
                let _ =
                    output::line(&DaemonCommand::failure_line(failure.code, &failure.plain_text()));
            }
            result
        }
    }
}

/// Runs the daemon, and starts over with each configuration that takes effect while it runs. If the
/// daemon cannot start with one of them, the last one stays in force.
fn run_until_stopped(args: &Daemon, ready: impl FnOnce()) -> Result<Exit, Failure> {
    let options = DaemonOptions {
        idle_exit: args.idle_exit.map(Duration::from_secs),
        http: args.http.as_deref().map(http_address).transpose()?,
        arguments: std::env::args_os().skip(1).filter_map(|one| one.into_string().ok()).collect(),
    };
    let passphrase = LogPassphrase::new(args.start.log_passphrase_fd);
    let mut runner = DaemonRunner {
        args,
        options,
        passphrase,
        process: DaemonProcess::default(),
        ready: Some(ready),
    };
    let mut in_force: Option<Config> = None;
    // Once: a link to its folder is not kept from the servers.
    let file = absolute_config(&args.config.path())?;
    loop {
        let loaded = config::load(&file).map_err(Failure::from);
        let loaded = loaded.and_then(|config| follow_known_links(config, in_force.as_ref()));
        let ended = loaded.and_then(|config| runner.run(&config));
        let DaemonEnd { reason, config } = match (ended, in_force.take()) {
            (Ok(ended), _) => ended,
            (Err(failure), None) => return Err(failure),
            (Err(failure), Some(last)) => {
                let problem = failure.plain_text();
                // The store may be out of reach for a while, for instance while its disk is full.
                if failure.exit == Exit::Store && failure.code.starts_with("ledger.") {
                    tracing::error!("the store cannot be opened; it is tried again: {problem}");
                    let paused = runner.process.pause(REOPEN_INTERVAL);
                    if !paused.map_err(|error| daemon_failure(&last.store_path, error))? {
                        return Ok(Exit::Ok);
                    }
                    in_force = Some(last);
                    continue;
                }
                tracing::error!(
                    "the changed configuration cannot be used, the old one stays in force: {problem}"
                );
                runner.run(&last)?
            }
        };
        match reason {
            DaemonExitReason::Finished => return Ok(Exit::Ok),
            DaemonExitReason::Reconfigured => in_force = Some(Config::clone(&config)),
            DaemonExitReason::Restarted => {
                // Where the next program cannot have this process, it has to get the store from it.
                #[cfg(not(unix))]
                drop(runner.process);
                return successor::start(runner.passphrase.handed_over());
            }
        }
    }
}

/// Refuses a configuration that servers of the last one may have brought into its place.
fn follow_known_links(config: Config, last: Option<&Config>) -> Result<Config, Failure> {
    let path = last.and_then(|last| config.new_link(last)).map(Path::to_path_buf);
    match path {
        Some(path) => Err(daemon_failure(&config.store_path, DaemonError::NewLink { path })),
        None => Ok(config),
    }
}

/// Runs a daemon with one configuration after the other.
struct DaemonRunner<'a, F> {
    args: &'a Daemon,
    options: DaemonOptions,
    passphrase: LogPassphrase,
    process: DaemonProcess,
    /// Called once clients can connect for the first time.
    ready: Option<F>,
}

impl<F: FnOnce()> DaemonRunner<'_, F> {
    fn run(&mut self, config: &Config) -> Result<DaemonEnd, Failure> {
        logging::start(self.args.start.log_format.or(&config.telemetry));
        let store = &config.store_path;
        let log_key = self.passphrase.open_key(config)?;
        let unsigned_development = self.args.start.unsigned_development;
        let options = ServeOptions { unsigned_development, log_key, ..ServeOptions::default() };
        let process = &mut self.process;
        let tell_ready = || self.ready.take().into_iter().for_each(|ready| ready());
        daemon::run(config.clone(), options, self.options.clone(), process, tell_ready)
            .map_err(|error| daemon_failure(store, error))
    }
}

/// The address of `--http`, which must be loopback. Other addresses belong in the configuration,
/// which says how they are protected.
fn http_address(text: &str) -> Result<SocketAddr, Failure> {
    let address = config::listen_address(text)
        .map_err(|problem| Failure::new(Exit::Usage, "daemon.http", problem))?;
    if !address.ip().is_loopback() {
        let message = format!("{address} can be reached from other machines");
        return Err(Failure::new(Exit::Usage, "daemon.http", message).with_next_step(
            "write it as `listen` under `[http]` in weaver.toml, with `cert` and `key`, or with \
             `proxy_ends_tls = true`",
        ));
    }
    Ok(address)
}

/// Tells the service manager that started this daemon that clients can connect (sd_notify(3)).
#[cfg(unix)]
fn notify_ready() {
    use std::os::unix::net::UnixDatagram;

    let Some(address) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let path = Path::new(&address);
    // An address that begins with `@` is in the abstract namespace, which systemd no longer uses.
    if path.is_absolute()
        && let Ok(socket) = UnixDatagram::unbound()
    {
        let _ = socket.send_to(b"READY=1", path);
    }
}

/// There is no such service manager.
#[cfg(not(unix))]
fn notify_ready() {}

/// How a daemon is started in the background.
pub(super) struct BackgroundStart<'a> {
    pub(super) options: &'a StartOptions,
    /// The seconds without a client after which it ends.
    pub(super) idle_exit: Option<u64>,
    /// The address for clients over HTTP, overriding the configured one.
    pub(super) http: Option<&'a str>,
}

impl<'a> BackgroundStart<'a> {
    /// The start by a client, which the daemon outlives for a while.
    pub(super) fn by_client(options: &'a StartOptions) -> Self {
        Self { options, idle_exit: Some(IDLE_EXIT_SECONDS), http: None }
    }

    /// The command that starts the daemon of a configuration. A passphrase is read from its
    /// descriptor and passed on.
    pub(super) fn command(&self, config: &Path) -> Result<DaemonCommand, Failure> {
        let program = std::env::current_exe().map_err(Failure::from)?;
        let mut arguments: Vec<OsString> =
            ["daemon", "--started-by-client", "--config"].map(OsString::from).into();
        arguments.push(config.into());
        let mut add = |option: &str, value: &str| arguments.extend([option.into(), value.into()]);
        if let Some(seconds) = self.idle_exit {
            add("--idle-exit", &seconds.to_string());
        }
        if let Some(address) = self.http {
            add("--http", address);
        }
        let format = self.options.log_format.format.and_then(|format| format.to_possible_value());
        if let Some(format) = format {
            add("--log-format", format.get_name());
        }
        let input = self.options.log_passphrase_fd.map(read_passphrase).transpose()?;
        if input.is_some() {
            add("--log-passphrase-fd", "0");
        }
        if self.options.unsigned_development {
            arguments.push("--unsigned-development".into());
        }
        let directory = config.parent().unwrap_or(Path::new("/")).to_path_buf();
        Ok(DaemonCommand { program, arguments, directory, input })
    }
}

fn read_passphrase(descriptor: u32) -> Result<Zeroizing<String>, Failure> {
    if descriptor == 0 {
        return Err(serve::stdin_passphrase_failure());
    }
    let text = read_descriptor(descriptor).map_err(|error| {
        let message = format!("descriptor {descriptor} cannot be read: {error}");
        Failure::new(Exit::Passphrase, "secret.descriptor", message)
    })?;
    // Checked here, because the daemon could report a bad passphrase only in its log.
    Passphrase::new(text.trim_end_matches(['\r', '\n']).to_owned().into())?;
    Ok(text)
}

#[cfg(unix)]
fn read_descriptor(descriptor: u32) -> io::Result<Zeroizing<String>> {
    use std::io::Read as _;

    let mut text = Zeroizing::new(String::new());
    let file = std::fs::File::open(format!("/dev/fd/{descriptor}"))?;
    file.take(MAX_PASSPHRASE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Programs are not handed open files by number there.
#[cfg(not(unix))]
fn read_descriptor(_descriptor: u32) -> io::Result<Zeroizing<String>> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this system has no descriptors; name a command as `passphrase` under `[log]`",
    ))
}

/// The absolute path of the configuration. The file itself may be a link that is pointed elsewhere
/// while the daemon runs (Kubernetes replaces a mounted ConfigMap so), and is not resolved.
pub(super) fn absolute_config(config: &Path) -> Result<PathBuf, Failure> {
    let folder = match config.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let found = config.metadata().and_then(|_| canonical_path(folder));
    let path = found.map(|folder| folder.join(config.file_name().unwrap_or_default()));
    path.map_err(|error| {
        if config == Path::new(DEFAULT_FILE_NAME) {
            return config_path::no_config_failure();
        }
        let name = escape::line(&config.display().to_string()).into_owned();
        Failure::new(Exit::Invalid, "config.unreadable", format!("{name}: {error}"))
            .with_next_step(NO_CONFIG_REMEDY)
    })
}

/// Turns an error of the daemon into a failure of the command. Only what nobody can mend from
/// outside is an internal error.
pub(super) fn daemon_failure(store: &Path, error: DaemonError) -> Failure {
    let code = error.code();
    let exit = match error {
        DaemonError::Serve(error) => return serve::serve_failure(store, error),
        DaemonError::NotRunning => Exit::NotFound,
        DaemonError::Running
        | DaemonError::Folder { .. }
        | DaemonError::ForeignFolder { .. }
        | DaemonError::FolderNotPrivate { .. } => Exit::Store,
        DaemonError::Listen { .. }
        | DaemonError::InheritedSocket { .. }
        | DaemonError::Start { .. }
        | DaemonError::Configuration { .. }
        | DaemonError::NewLink { .. } => Exit::Invalid,
        DaemonError::MakingWay | DaemonError::Refused { .. } | DaemonError::Connection { .. } => {
            Exit::NotAccepted
        }
        _ => Exit::Internal,
    };
    Failure::new(exit, code, error)
}

/// The store of a configuration. One that cannot be read may still have a daemon, which goes on with
/// what the file said before.
fn store_of(config: &Path) -> Result<PathBuf, Failure> {
    config::load_store_path(absolute_config(config)?).or_else(|errors| {
        let running = running_in_spite_of(config).map(|(store, _)| store);
        running.ok_or_else(|| errors.into())
    })
}

pub(super) fn stop(args: &DaemonArgs) -> Result<Exit, Failure> {
    let store = store_of(&args.config.path())?;
    daemon::stop(&store, AfterShutdown::Stopped).map_err(|error| daemon_failure(&store, error))?;
    if args.output.json {
        output::json(&json!({ "ok": true }))?;
    } else {
        output::line("stopped; clients are told so until it is started again")?;
    }
    Ok(Exit::Ok)
}

/// Refuses to start a daemon that could not open the key of its log.
pub(super) fn check_log_passphrase(
    config: &Config,
    descriptor: Option<u32>,
) -> Result<(), Failure> {
    match &config.log.signing {
        Some(signing) if signing.passphrase.is_none() && descriptor.is_none() => {
            Err(serve::missing_passphrase_failure(&signing.key))
        }
        _ => Ok(()),
    }
}

/// The store of a configuration, borrowed from its daemon until the loan is dropped.
pub(super) fn borrow_store(config: &Config) -> Result<daemon::StoreLoan, Failure> {
    daemon::borrow_store(&config.store_path)
        .map_err(|error| daemon_failure(&config.store_path, error))
}
