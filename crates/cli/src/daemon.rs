//! `weaver daemon`, `status`, `stop` and `restart`.

pub(super) mod logs;

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum as _};
use serde_json::json;
use weaver_gateway::config::{self, Config, DEFAULT_NAME, NO_CONFIG_REMEDY};
use weaver_gateway::daemon::{
    self, DaemonCommand, DaemonEnd, DaemonError, DaemonOptions, DaemonStatus, StoreClaim,
};
use weaver_gateway::secret::Passphrase;
use weaver_gateway::serve::{Farewell, ServeError, ServeOptions};
use weaver_text::escape;
use zeroize::Zeroizing;

use super::serve::{LogPassphrase, StartOptions};
use super::shared_args::Json;
use super::{Exit, Failure, config_path, logging, output, serve};
use crate::output::OutputFormat;

#[derive(Debug, Args)]
pub(super) struct Daemon {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "weaver.toml",
        value_parser = crate::config_path::named)]
    pub(super) config: PathBuf,
    #[command(flatten)]
    pub(super) start: StartOptions,
    /// Serve clients over HTTP at this loopback address too, or in place of the one under `[http]`:
    /// `127.0.0.1:8700`
    #[arg(long, value_name = "ADDRESS")]
    pub(super) http: Option<String>,
    /// End after so many seconds without a client
    #[arg(long, value_name = "SECONDS")]
    pub(super) idle_exit: Option<u64>,
    /// Say on standard output, in one line of JSON, when clients can connect
    #[arg(long, hide = true)]
    pub(super) started_by_client: bool,
}

#[derive(Debug, Args)]
pub(super) struct Restart {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "weaver.toml",
        value_parser = crate::config_path::named)]
    config: PathBuf,
    #[command(flatten)]
    start: StartOptions,
}

#[derive(Debug, Args)]
pub(super) struct DaemonVerb {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "weaver.toml",
        value_parser = crate::config_path::named)]
    pub(super) config: PathBuf,
    #[command(flatten)]
    pub(super) output: Json,
}

/// After how many seconds without a client a daemon ends that a client started.
const IDLE_EXIT: u64 = 60;
/// The longest passphrase that is handed on, in bytes.
const MAX_PASSPHRASE: u64 = 4096;

pub(super) fn run(args: &Daemon) -> Result<Exit, Failure> {
    #[cfg(target_os = "linux")]
    super::huge_pages::allow();
    match args.started_by_client {
        false => start(args, || {
            match args.start.log_format.output_format() {
                OutputFormat::Json => tracing::info!("clients can connect"),
                OutputFormat::Text => output::aside("weaver: ready\n"),
            }
            notify_ready();
        }),
        true => {
            daemon::leave_session();
            let ended = start(args, || {
                // Whoever started it may be gone already.
                let _ = output::line(&DaemonCommand::ready_line());
                let _ = daemon::detach_output();
            });
            if let Err(failure) = &ended {
                let _ =
                    output::line(&DaemonCommand::failure_line(failure.code, &failure.in_words()));
            }
            ended
        }
    }
}

/// Runs the daemon, anew for each configuration that comes into force while it runs.
fn start(args: &Daemon, ready: impl FnOnce()) -> Result<Exit, Failure> {
    let how = DaemonOptions {
        idle_exit: args.idle_exit.map(Duration::from_secs),
        http: args.http.as_deref().map(http_address).transpose()?,
    };
    let mut passphrase = LogPassphrase::new(args.start.log_passphrase_fd);
    let mut ready = Some(ready);
    let mut claim: Option<StoreClaim> = None;
    loop {
        let config = config::load(absolute(&args.config)?)?;
        logging::start(args.start.log_format.or(&config.telemetry));
        let store = config.store.clone();
        let log_key = passphrase.open_key(&config)?;
        let unsigned_development = args.start.unsigned_development;
        let options = ServeOptions { unsigned_development, log_key, ..ServeOptions::default() };
        // The store stays claimed between two configurations, unless it is another one.
        claim = claim.filter(|claim| claim.is_of(&store));
        let claimed = match claim.take() {
            Some(claimed) => claimed,
            None => StoreClaim::of_store(&store).map_err(|error| failed(&store, error))?,
        };
        let claimed = claim.insert(claimed);
        let tell_ready = || ready.take().into_iter().for_each(|ready| ready());
        let ended = daemon::run(config, options, how, claimed, tell_ready);
        match ended.map_err(|error| failed(&store, error))? {
            DaemonEnd::Over => return Ok(Exit::Ok),
            DaemonEnd::Reconfigured => {}
        }
    }
}

/// The address of `--http`. Others are for the configuration, which says how they are protected.
fn http_address(text: &str) -> Result<SocketAddr, Failure> {
    let address = config::listen_address(text)
        .map_err(|problem| Failure::new(Exit::Usage, "daemon.http", problem))?;
    if !address.ip().is_loopback() {
        let message = format!("{address} can be reached from other machines");
        return Err(Failure::new(Exit::Usage, "daemon.http", message).next(
            "write it as `listen` under `[http]` in weaver.toml, with `cert` and `key`, or with \
             `proxy_ends_tls = true`",
        ));
    }
    Ok(address)
}

/// Tells the service manager that started this that clients can connect (sd_notify(3)).
fn notify_ready() {
    let Some(address) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let path = Path::new(&address);
    // An address that begins with `@` is in the abstract namespace, which systemd uses no more.
    if path.is_absolute()
        && let Ok(socket) = UnixDatagram::unbound()
    {
        let _ = socket.send_to(b"READY=1", path);
    }
}

/// The command that starts the daemon of a configuration, as `options` want it. A passphrase is read
/// from its descriptor and handed on.
pub(super) fn command(options: &StartOptions, config: &Path) -> Result<DaemonCommand, Failure> {
    let program = std::env::current_exe().map_err(Failure::from)?;
    let mut arguments: Vec<OsString> = ["daemon", "--started-by-client", "--idle-exit"]
        .into_iter()
        .map(OsString::from)
        .chain([IDLE_EXIT.to_string().into(), "--config".into(), config.into()])
        .collect();
    if let Some(format) = options.log_format.format.and_then(|format| format.to_possible_value()) {
        arguments.extend(["--log-format".into(), format.get_name().into()]);
    }
    if options.unsigned_development {
        arguments.push("--unsigned-development".into());
    }
    let input = options.log_passphrase_fd.map(passphrase).transpose()?;
    if input.is_some() {
        arguments.extend(["--log-passphrase-fd".into(), "0".into()]);
    }
    let directory = config.parent().unwrap_or(Path::new("/")).to_path_buf();
    Ok(DaemonCommand { program, arguments, directory, input })
}

fn passphrase(descriptor: u32) -> Result<Zeroizing<String>, Failure> {
    if descriptor == 0 {
        return Err(serve::client_descriptor());
    }
    let mut text = Zeroizing::new(String::new());
    File::open(format!("/dev/fd/{descriptor}"))
        .and_then(|file| file.take(MAX_PASSPHRASE).read_to_string(&mut text))
        .map_err(|error| {
            let message = format!("descriptor {descriptor} cannot be read: {error}");
            Failure::new(Exit::Passphrase, "secret.descriptor", message)
        })?;
    // It is one, or the daemon would only say so in its log.
    Passphrase::new(text.trim_end_matches(['\r', '\n']).to_owned().into())?;
    Ok(text)
}

/// The configuration by a path that holds in every folder.
pub(super) fn absolute(config: &Path) -> Result<PathBuf, Failure> {
    config.canonicalize().map_err(|error| {
        if config == Path::new(DEFAULT_NAME) {
            return config_path::no_config();
        }
        let name = escape::line(&config.display().to_string()).into_owned();
        Failure::new(Exit::Invalid, "config.unreadable", format!("{name}: {error}"))
            .next(NO_CONFIG_REMEDY)
    })
}

/// Why there is no daemon to talk to.
pub(super) fn failed(store: &Path, error: DaemonError) -> Failure {
    let code = error.code();
    match error {
        DaemonError::Serve(ServeError::Documents(error)) => Failure::from(error),
        DaemonError::Serve(ServeError::Version(error)) => Failure::from(error),
        DaemonError::Serve(ServeError::Store(error)) => Failure::store(store, &error),
        DaemonError::Serve(error @ ServeError::Principal { .. }) => {
            Failure::new(Exit::Invalid, code, error).next("`weaver check` says more")
        }
        DaemonError::Serve(ServeError::Kernel(error)) if code.starts_with("ledger.") => {
            Failure::new(Exit::Store, code, error)
        }
        DaemonError::NotRunning => Failure::new(Exit::Unknown, code, DaemonError::NotRunning),
        DaemonError::Running => Failure::new(Exit::Store, code, DaemonError::Running),
        error @ (DaemonError::NotOwn { .. } | DaemonError::Open { .. }) => {
            Failure::new(Exit::Store, code, error)
        }
        error => Failure::new(Exit::Internal, code, error),
    }
}

fn store_of(config: &Path) -> Result<PathBuf, Failure> {
    Ok(config::store_of(absolute(config)?)?)
}

pub(super) fn status(args: &DaemonVerb) -> Result<Exit, Failure> {
    let store = store_of(&args.config)?;
    let status = daemon::status(&store).map_err(|error| failed(&store, error))?;
    if args.output.json {
        output::json(&json!(status))?;
    } else {
        output::text(&shown(&status))?;
    }
    Ok(Exit::Ok)
}

fn shown(status: &DaemonStatus) -> String {
    let mut out = format!(
        "{} {}, process {}, up {}, serves {}\n",
        output::bold("weaver"),
        status.version,
        status.pid,
        duration(status.uptime_s),
        status.config.display()
    );
    if let Some(address) = status.http {
        let scheme = if status.https { "https" } else { "http" };
        out.push_str(&format!("clients over HTTP: {scheme}://{address}/mcp\n"));
    }
    let server = &status.server;
    out.push_str(&output::bold("\nClients\n"));
    if server.sessions.is_empty() {
        out.push_str("  none is connected\n");
    }
    for session in &server.sessions {
        let label = escape::line(&session.label);
        let under_way = match session.requests {
            0 => "idle".to_owned(),
            1 => "1 request under way".to_owned(),
            many => format!("{many} requests under way"),
        };
        out.push_str(&format!(
            "  {label}, {}, as {}: {under_way}\n",
            session.client, session.principal
        ));
    }
    out.push_str(&output::bold("\nServers\n"));
    for (name, server) in &server.servers {
        let state = match &server.problem {
            None => output::good(&server.state),
            Some(problem) if server.state == "starting" => escape::line(problem).into_owned(),
            Some(problem) => {
                format!("{}: {}", output::bad(&server.state), escape::line(problem))
            }
        };
        let dedicated = match server.dedicated_instances {
            0 => String::new(),
            1 => ", and 1 for another client".to_owned(),
            many => format!(", and {many} for other clients"),
        };
        out.push_str(&format!("  {name}: {state}{dedicated}\n"));
    }
    out.push_str(&match server.held {
        0 => "\nNo call waits for an approval.\n".to_owned(),
        1 => "\n1 call waits for an approval: `weaver approve list`\n".to_owned(),
        many => format!("\n{many} calls wait for an approval: `weaver approve list`\n"),
    });
    out
}

/// A time in the largest unit that fits.
fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

pub(super) fn stop(args: &DaemonVerb) -> Result<Exit, Failure> {
    let store = store_of(&args.config)?;
    daemon::end(&store, Farewell::Stopped).map_err(|error| failed(&store, error))?;
    if args.output.json {
        output::json(&json!({ "ok": true }))?;
    } else {
        output::line("stopped; clients are told so until it is started again")?;
    }
    Ok(Exit::Ok)
}

pub(super) fn restart(args: &Restart) -> Result<Exit, Failure> {
    let config = absolute(&args.config)?;
    let store = config::store_of(&config)?;
    // One that could not start would leave clients over HTTP without any.
    check_log_passphrase(&config::load(&config)?, args.start.log_passphrase_fd)?;
    match daemon::end(&store, Farewell::Restarting) {
        Ok(()) | Err(DaemonError::NotRunning) => {}
        Err(error) => return Err(failed(&store, error)),
    }
    daemon::ensure(&store, &command(&args.start, &config)?)
        .map_err(|error| failed(&store, error))?;
    output::line("restarted; clients go on")?;
    Ok(Exit::Ok)
}

/// Refuses to have a daemon started that could not open the key of its log.
pub(super) fn check_log_passphrase(
    config: &Config,
    descriptor: Option<u32>,
) -> Result<(), Failure> {
    match &config.log.signing {
        Some(signing) if signing.passphrase.is_none() && descriptor.is_none() => {
            Err(serve::no_passphrase(&signing.key))
        }
        _ => Ok(()),
    }
}

/// The store of a configuration, lent by its daemon for as long as this lives.
pub(super) fn borrow(config: &Config) -> Result<daemon::StoreLoan, Failure> {
    daemon::borrow_store(&config.store).map_err(|error| failed(&config.store, error))
}
