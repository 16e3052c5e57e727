//! `weaver serve`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use weaver_gateway::config::{self, Config, LogFormat, Telemetry};
#[cfg(unix)]
use weaver_gateway::daemon::{
    self, ClientToken, DaemonError, DaemonFolder, SessionRequest, ShimOptions,
};
use weaver_gateway::secret::{KeyFile, Passphrase};
use weaver_gateway::serve::{self, ServeError, ServeOptions};
#[cfg(unix)]
use weaver_text::escape;
use weaver_types::signature::SigningKey;

use super::{Exit, Failure, logging};
use crate::output::OutputFormat;

#[derive(Debug, Args)]
pub(super) struct Serve {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "weaver.toml",
        value_parser = crate::config_path::named)]
    pub(super) config: PathBuf,
    #[command(flatten)]
    pub(super) start: StartOptions,
    /// What this client sees: a `[profiles.NAME]` of the configuration
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// What `weaver status` calls this client; it gives no right
    #[arg(long, value_name = "TEXT")]
    pub(super) label: Option<String>,
    /// Come as the client whose token, of `weaver clients add`, this variable has
    #[arg(long, value_name = "NAME", conflicts_with = "standalone")]
    pub(super) token_env: Option<String>,
    /// Be the gateway of this one client, without a daemon
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

/// How messages are written.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct LogFormatArgument {
    /// How messages are written, one a line; what `[telemetry]` says unless it is given
    #[arg(long = "log-format", value_name = "FORMAT")]
    pub(super) format: Option<Format>,
}

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// As JSON objects
    Json,
}

impl LogFormatArgument {
    /// The format that counts: the one of the command line, else the configuration's.
    pub(super) fn or(&self, configured: &Telemetry) -> LogFormat {
        match self.format {
            Some(Format::Text) => LogFormat::Text,
            Some(Format::Json) => LogFormat::Json,
            None => configured.log_format.unwrap_or_default(),
        }
    }

    /// The form of a failure, which may come before the configuration is read.
    pub(super) fn output_format(&self) -> OutputFormat {
        match self.format {
            Some(Format::Json) => OutputFormat::Json,
            Some(Format::Text) | None => OutputFormat::Text,
        }
    }
}

pub(super) fn run(args: &Serve) -> Result<Exit, Failure> {
    #[cfg(unix)]
    if !args.standalone {
        return shim(args);
    }
    standalone(args)
}

/// Stands between the client and the daemon. Where the configuration cannot be used, the client gets
/// that as the answer to all that it asks, and a person at a terminal at once.
#[cfg(unix)]
fn shim(args: &Serve) -> Result<Exit, Failure> {
    match shim_options(args) {
        Ok(options) => {
            daemon::run_shim(Ok(options))?;
            Ok(Exit::Ok)
        }
        Err(failure) if std::io::stdin().is_terminal() => Err(failure),
        Err(failure) => {
            super::output::failure(&failure, args.start.log_format.output_format());
            let problem =
                DaemonError::Configuration { code: failure.code, problem: failure.in_words() };
            daemon::run_shim(Err(problem))?;
            Ok(failure.exit)
        }
    }
}

#[cfg(unix)]
fn shim_options(args: &Serve) -> Result<ShimOptions, Failure> {
    let config = super::daemon::absolute(&args.config)?;
    let folder = DaemonFolder::of_store(&config::store_of(&config)?);
    let command = super::daemon::command(&args.start, &config)?;
    let request = SessionRequest {
        config,
        unsigned_development: args.start.unsigned_development,
        profile: args.profile.clone(),
        folder: std::env::current_dir().ok(),
        label: args.label.clone().unwrap_or_else(|| "client".to_owned()),
        token: args.token_env.as_deref().map(token).transpose()?,
    };
    Ok(ShimOptions { folder, command, request })
}

/// The token in a variable. Without it the client would come as the owner, who may do more.
#[cfg(unix)]
fn token(variable: &str) -> Result<ClientToken, Failure> {
    let text = std::env::var(variable).unwrap_or_default();
    if text.trim().is_empty() {
        let message = format!("the variable {} is not set", escape::line(variable));
        return Err(Failure::new(Exit::Usage, "serve.token", message)
            .next("write the token that `weaver clients add` printed into the client's `env`"));
    }
    Ok(ClientToken::new(&text))
}

fn standalone(args: &Serve) -> Result<Exit, Failure> {
    #[cfg(target_os = "linux")]
    super::huge_pages::allow();
    if args.start.log_passphrase_fd == Some(0) {
        return Err(client_descriptor());
    }
    let config = config::load(&args.config)?;
    logging::start(args.start.log_format.or(&config.telemetry));
    let store = config.store.clone();
    let log_key = LogPassphrase::new(args.start.log_passphrase_fd).open_key(&config)?;
    let unsigned_development = args.start.unsigned_development;
    let options = ServeOptions { unsigned_development, log_key, ..ServeOptions::default() };
    serve::run(config, options, args.profile.as_deref()).map_err(|error| match error {
        ServeError::Documents(error) => Failure::from(error),
        ServeError::Version(error) => Failure::from(error),
        ServeError::Store(error) => Failure::store(&store, &error),
        error @ ServeError::Principal { .. } => {
            Failure::new(Exit::Invalid, error.code(), error).next("`weaver check` says more")
        }
        ServeError::Kernel(error) if error.code().starts_with("ledger.") => {
            Failure::new(Exit::Store, error.code(), error)
        }
        error => Failure::new(Exit::Internal, error.code(), error),
    })?;
    Ok(Exit::Ok)
}

/// A passphrase cannot come from where the client speaks.
pub(super) fn client_descriptor() -> Failure {
    Failure::new(Exit::Usage, "serve.log_passphrase", "descriptor 0 is the client's")
        .next("use another one")
}

/// Where the passphrase of the log's key comes from: a descriptor, which can be read once, or what the
/// configuration says.
pub(super) struct LogPassphrase {
    descriptor: Option<u32>,
    read: Option<Passphrase>,
}

impl LogPassphrase {
    pub(super) fn new(descriptor: Option<u32>) -> Self {
        Self { descriptor, read: None }
    }

    /// The key of the log, where the configuration names one. Standard input is the client's.
    pub(super) fn open_key(&mut self, config: &Config) -> Result<Option<SigningKey>, Failure> {
        let refused = |message: String| Failure::new(Exit::Usage, "serve.log_passphrase", message);
        let Some(signing) = &config.log.signing else {
            return match self.descriptor {
                None => Ok(None),
                Some(_) => Err(refused("there is a passphrase and no key for it".to_owned())
                    .next("write `key = \"log.key\"` under `[log]`, or leave the option out")),
            };
        };
        let file = KeyFile::read(&signing.key)?;
        let key = match (self.descriptor, &signing.passphrase) {
            (Some(descriptor), _) => {
                if self.read.is_none() {
                    self.read = Some(Passphrase::from_descriptor(descriptor)?);
                }
                self.read.as_ref().map(|passphrase| file.open(passphrase)).transpose()?
            }
            (None, Some(source)) => Some(file.open(&Passphrase::from_source(source)?)?),
            (None, None) => return Err(no_passphrase(&signing.key)),
        };
        Ok(key)
    }
}

/// The log has a key, and nothing says where its passphrase is.
pub(super) fn no_passphrase(key: &Path) -> Failure {
    let message = format!("{} needs its passphrase", key.display());
    Failure::new(Exit::Usage, "serve.log_passphrase", message).next(
        "say where it is: `passphrase = { command = [\"pass\", \"show\", \"weaver-log\"] }` under \
         `[log]`; or hand it over: `weaver serve --log-passphrase-fd 3 3< <(pass show weaver-log)`",
    )
}
