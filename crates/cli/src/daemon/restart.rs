//! `weaver restart`: replaces the running daemon.

use clap::{Args, Parser};
use weaver_gateway::config::SignatureChecks;
use weaver_gateway::daemon::{self, DaemonError};
use weaver_gateway::serve::AfterShutdown;
use weaver_gateway::start_check;
use weaver_types::{Clock as _, SystemClock};

use super::{BackgroundStart, Daemon, absolute_config, check_log_passphrase, daemon_failure};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::serve::{LogFormatArgument, StartOptions};
use crate::shared_args::ConfigArg;

#[derive(Debug, Args)]
pub(crate) struct Restart {
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    start: StartOptions,
}

/// Replaces the daemon by one of the installed program with the same options: in its own process,
/// or, if a client had started it and none is served over HTTP, in the background.
pub(crate) fn run(args: &Restart) -> Result<Exit, Failure> {
    let file = absolute_config(&args.config.path())?;
    let store = weaver_gateway::config::load_store_path(&file)?;
    let status = daemon::status(&store).ok();
    let previous = status.as_ref().and_then(|status| daemon_arguments(&status.arguments));
    let is_watched = previous.as_ref().is_some_and(|daemon| !daemon.started_by_client);
    // Clients over HTTP would be refused between one process and the next.
    let serves_http = status.as_ref().is_some_and(|status| status.http.is_some());
    let is_in_place = is_watched || serves_http && !args.start.is_given();
    if is_watched && args.start.is_given() {
        return Err(own_options_failure());
    }
    let options = with_previous(&args.start, previous.as_ref());
    // Checked before the stop: a daemon that cannot start would leave clients over HTTP without
    // any.
    let signatures = SignatureChecks::unless(options.unsigned_development);
    let (config, _) = start_check::check(&file, signatures, SystemClock::default().now())?;
    let failed = |error| daemon_failure(&store, error);
    if is_in_place {
        let descriptor = previous.and_then(|daemon| daemon.start.log_passphrase_fd);
        check_log_passphrase(&config, descriptor)?;
        daemon::restart(&store).map_err(failed)?;
    } else {
        check_log_passphrase(&config, options.log_passphrase_fd)?;
        let start = match &previous {
            Some(previous) => BackgroundStart {
                options: &options,
                idle_exit: previous.idle_exit,
                http: previous.http.as_deref(),
            },
            None => BackgroundStart::by_client(&options),
        };
        let command = start.command(&file)?;
        match daemon::stop(&store, AfterShutdown::Restarting) {
            Ok(()) | Err(DaemonError::NotRunning) => {}
            Err(error) => return Err(failed(error)),
        }
        daemon::ensure_running(&store, &command).map_err(failed)?;
    }
    output::line("restarted; clients go on")?;
    Ok(Exit::Ok)
}

/// The failure when options are given for a daemon that has its own command line.
fn own_options_failure() -> Failure {
    let message = "the daemon runs with the options of who started it: a service manager, a \
                   container or a terminal";
    Failure::new(Exit::Usage, "daemon.own_options", message)
        .with_next_step("change them there, and start it anew; or leave the options out")
}

/// The command line of a daemon.
#[derive(Parser)]
struct DaemonCommandLine {
    #[command(flatten)]
    daemon: Daemon,
}

/// The options with which a daemon was started; the first of the arguments is the subcommand.
fn daemon_arguments(arguments: &[String]) -> Option<Daemon> {
    DaemonCommandLine::try_parse_from(arguments).ok().map(|line| line.daemon)
}

/// The options of the command line, and for those that it leaves out the previous daemon's.
fn with_previous(given: &StartOptions, previous: Option<&Daemon>) -> StartOptions {
    let previous = previous.map(|daemon| &daemon.start);
    StartOptions {
        unsigned_development: given.unsigned_development
            || previous.is_some_and(|start| start.unsigned_development),
        // A descriptor of another process.
        log_passphrase_fd: given.log_passphrase_fd,
        log_format: LogFormatArgument {
            format: given.log_format.format.or(previous.and_then(|start| start.log_format.format)),
        },
    }
}
