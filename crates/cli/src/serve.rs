//! `weaver serve`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use weaver_gateway::canonical_path;
use weaver_gateway::config::{self, Config, LogFormat, TelemetrySettings};
use weaver_gateway::daemon::{
    self, ClientToken, DaemonError, DaemonFolder, SessionRequest, ShimOptions,
};
use weaver_gateway::secret::{KeyFile, Passphrase};
use weaver_gateway::serve::{self, ServeError, ServeOptions};
use weaver_text::escape;
use weaver_types::signature::SigningKey;

use super::{Exit, Failure, logging};
use crate::output::OutputFormat;
use crate::shared_args::ConfigArg;

#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    pub(super) config: ConfigArg,
    #[command(flatten)]
    pub(super) start: StartOptions,
    /// What this client sees: a `[profiles.NAME]` of the configuration
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// The name of this client in `weaver status`; it grants no right
    #[arg(long, value_name = "TEXT")]
    pub(super) label: Option<String>,
    /// The folder that the client works in, where it is not the one that starts this
    #[arg(long, value_name = "FOLDER", conflicts_with = "standalone")]
    pub(super) folder: Option<PathBuf>,
    /// Connect as the client whose token, from `weaver clients add`, is in this variable
    #[arg(long, value_name = "NAME", conflicts_with = "standalone")]
    pub(super) token_env: Option<String>,
    /// Run as the gateway of this client only, without a daemon
    #[arg(long)]
    pub(super) standalone: bool,
}

/// How a gateway is started.
#[derive(Debug, Args)]
pub(super) struct StartOptions {
    /// Do not verify signatures; every decision in the log says so
    #[arg(long)]
    pub(super) unsigned_development: bool,
    /// Read the passphrase of the log's key from this open file descriptor
    #[arg(long, value_name = "N")]
    pub(super) log_passphrase_fd: Option<u32>,
    #[command(flatten)]
    pub(super) log_format: LogFormatArgument,
}

impl StartOptions {
    /// Whether the command line has any of them.
    pub(super) fn is_given(&self) -> bool {
        self.unsigned_development
            || self.log_passphrase_fd.is_some()
            || self.log_format.format.is_some()
    }
}

/// How messages are written.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct LogFormatArgument {
    /// The format of messages, one per line; by default that of `[telemetry]`
    #[arg(long = "log-format", value_name = "FORMAT")]
    pub(super) format: Option<LogFormatName>,
}

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormatName {
    /// For people
    Text,
    /// As JSON objects
    Json,
}

impl LogFormatArgument {
    /// The format in effect: the one of the command line, else the configuration's.
    pub(super) fn or(&self, configured: &TelemetrySettings) -> LogFormat {
        match self.format {
            Some(LogFormatName::Text) => LogFormat::Text,
            Some(LogFormatName::Json) => LogFormat::Json,
            None => configured.log_format.unwrap_or_default(),
        }
    }

    /// The format of a failure, which may come before the configuration is read.
    pub(super) fn output_format(&self) -> OutputFormat {
        match self.format {
            Some(LogFormatName::Json) => OutputFormat::Json,
            Some(LogFormatName::Text) | None => OutputFormat::Text,
        }
    }
}

pub(super) fn run(args: &Serve) -> Result<Exit, Failure> {
    if !args.standalone {
        return run_shim(args);
    }
    run_standalone(args)
}

/// Relays between the client and the daemon. If the configuration is invalid, the client gets that
/// as the answer to every request; a person at a terminal gets the failure at once.
fn run_shim(args: &Serve) -> Result<Exit, Failure> {
    match shim_options(args) {
        Ok(options) => {
            daemon::run_shim(Ok(options))?;
            Ok(Exit::Ok)
        }
        Err(failure) if std::io::stdin().is_terminal() => Err(failure),
        Err(failure) => {
            super::output::failure(&failure, args.start.log_format.output_format());
            let problem =
                DaemonError::Configuration { code: failure.code, problem: failure.plain_text() };
            daemon::run_shim(Err(problem))?;
            Ok(failure.exit)
        }
    }
}

fn shim_options(args: &Serve) -> Result<ShimOptions, Failure> {
    let config = super::daemon::absolute_config(&args.config.path())?;
    let folder = DaemonFolder::of_store(&config::load_store_path(&config)?);
    let command = super::daemon::BackgroundStart::by_client(&args.start).command(&config)?;
    let request = SessionRequest {
        config,
        unsigned_development: args.start.unsigned_development,
        profile: args.profile.clone(),
        folder: client_folder(args)?,
        label: args.label.clone().unwrap_or_else(|| "client".to_owned()),
        token: args.token_env.as_deref().map(token_from_variable).transpose()?,
    };
    Ok(ShimOptions { folder, command, request })
}

/// The folder that the client works in. It grants nothing: it selects the servers of its project.
fn client_folder(args: &Serve) -> Result<Option<PathBuf>, Failure> {
    let Some(folder) = &args.folder else { return Ok(std::env::current_dir().ok()) };
    canonical_path(folder).map(Some).map_err(|error| {
        let message = format!("the folder {} cannot be entered: {error}", folder.display());
        Failure::new(Exit::Usage, "serve.folder", message)
            .with_next_step("name the folder of the project after `--folder`")
    })
}

/// Reads the client's token from a variable. A missing token is an error, because without one the
/// client would connect as the owner, who may do more.
fn token_from_variable(variable: &str) -> Result<ClientToken, Failure> {
    let text = std::env::var(variable).unwrap_or_default();
    if text.trim().is_empty() {
        let message = format!("the variable {} is not set", escape::line(variable));
        return Err(Failure::new(Exit::Usage, "serve.token", message).with_next_step(
            "write the token that `weaver clients add` printed into the client's `env`",
        ));
    }
    Ok(ClientToken::new(&text))
}

fn run_standalone(args: &Serve) -> Result<Exit, Failure> {
    #[cfg(target_os = "linux")]
    super::huge_pages::enable();
    if args.start.log_passphrase_fd == Some(0) {
        return Err(stdin_passphrase_failure());
    }
    let config = config::load(args.config.path())?;
    logging::start(args.start.log_format.or(&config.telemetry));
    let store = config.store_path.clone();
    let log_key = LogPassphrase::new(args.start.log_passphrase_fd).open_key(&config)?;
    let unsigned_development = args.start.unsigned_development;
    let options = ServeOptions { unsigned_development, log_key, ..ServeOptions::default() };
    serve::run(config, options, args.profile.as_deref())
        .map_err(|error| serve_failure(&store, error))?;
    Ok(Exit::Ok)
}

/// Turns an error of serving into a failure of the command.
pub(super) fn serve_failure(store: &Path, error: ServeError) -> Failure {
    let code = error.code();
    match error {
        ServeError::Documents(error) => Failure::from(error),
        ServeError::Version(error) => Failure::from(error),
        ServeError::Store(error) => Failure::store(store, &error),
        ServeError::Profile { .. } => Failure::new(Exit::Usage, code, error),
        error @ ServeError::Principal { .. } => {
            Failure::new(Exit::Invalid, code, error).with_next_step("`weaver check` says more")
        }
        error @ (ServeError::Identity(_)
        | ServeError::Collector(_)
        | ServeError::Redaction(_)
        | ServeError::WordTable(_)
        | ServeError::Tool { .. }) => Failure::new(Exit::Invalid, code, error),
        error @ ServeError::Folder { .. } => Failure::new(Exit::Store, code, error),
        ServeError::Kernel(error) if code.starts_with("ledger.") => {
            Failure::new(Exit::Store, code, error)
        }
        error => Failure::new(Exit::Internal, code, error),
    }
}

/// Descriptor 0 cannot hold the passphrase, because the client speaks MCP on it.
pub(super) fn stdin_passphrase_failure() -> Failure {
    Failure::new(Exit::Usage, "serve.log_passphrase", "descriptor 0 is the client's")
        .with_next_step("use another one")
}

/// Where the passphrase of the log's key comes from: a descriptor, which can be read only once, or
/// the source in the configuration.
pub(super) struct LogPassphrase {
    descriptor: Option<u32>,
    passphrase: Option<Passphrase>,
}

impl LogPassphrase {
    pub(super) fn new(descriptor: Option<u32>) -> Self {
        Self { descriptor, passphrase: None }
    }

    /// The passphrase that was read from the descriptor.
    pub(super) fn handed_over(&self) -> Option<&Passphrase> {
        self.passphrase.as_ref()
    }

    /// The key of the log, if the configuration names one.
    pub(super) fn open_key(&mut self, config: &Config) -> Result<Option<SigningKey>, Failure> {
        let refused = |message: String| Failure::new(Exit::Usage, "serve.log_passphrase", message);
        let Some(signing) = &config.log.signing else {
            return match self.descriptor {
                None => Ok(None),
                Some(_) => Err(refused("there is a passphrase and no key for it".to_owned())
                    .with_next_step(
                        "write `key = \"log.key\"` under `[log]`, or leave the option out",
                    )),
            };
        };
        let file = KeyFile::read(&signing.key)?;
        let key = match (self.descriptor, &signing.passphrase) {
            (Some(descriptor), _) => {
                if self.passphrase.is_none() {
                    self.passphrase = Some(Passphrase::from_descriptor(descriptor)?);
                }
                self.passphrase.as_ref().map(|passphrase| file.open(passphrase)).transpose()?
            }
            (None, Some(source)) => Some(file.open(&Passphrase::from_source(source)?)?),
            (None, None) => return Err(missing_passphrase_failure(&signing.key)),
        };
        Ok(key)
    }
}

/// The failure when the log has a key and nothing says where its passphrase is.
pub(super) fn missing_passphrase_failure(key: &Path) -> Failure {
    let message = format!("{} needs its passphrase", key.display());
    Failure::new(Exit::Usage, "serve.log_passphrase", message).with_next_step(
        "say where it is: `passphrase = { command = [\"pass\", \"show\", \"weaver-log\"] }` under \
         `[log]`; or hand it over: `weaver serve --log-passphrase-fd 3 3< <(pass show weaver-log)`",
    )
}
