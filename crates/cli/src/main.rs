//! The `weaver` command.
//!
//! Arguments are read in two steps: first what was typed, then what it names. Only data goes to
//! standard output. Errors go to standard error with the next step, and end in one of the
//! documented [`Exit`] codes.

mod age;
mod allow;
mod approve;
mod args;
mod argument_error;
mod catalog;
mod check;
mod clients;
mod compile;
mod completions;
mod config_path;
mod connect;
mod contracts;
mod daemon;
mod demo;
mod doctor;
mod exit;
mod failure;
mod help;
#[cfg(target_os = "linux")]
mod huge_pages;
mod init;
#[cfg(target_os = "linux")]
mod init_process;
mod input;
mod inspect;
mod kernel;
mod keys;
mod ledger_clock;
mod line_reader;
mod logging;
mod login;
mod man_pages;
mod memory;
mod output;
mod output_file;
mod overview;
mod policy;
mod posture;
mod reasons;
mod redact;
#[cfg(test)]
mod reference;
mod remove;
mod replay;
mod route;
mod schema;
mod serve;
#[cfg(unix)]
mod service;
mod shared_args;
mod sign;
mod tool_list;
mod trace;

use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches as _};
use mimalloc::MiMalloc;
use weaver_drivers::confine;
use weaver_gateway::serve::LAUNCH_SUBCOMMAND;

use args::{Cli, Command};
pub(crate) use exit::Exit;
pub(crate) use failure::Failure;
use output::OutputFormat;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // Before anything else: the launcher needs a process with one thread and no open files.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|verb| verb == LAUNCH_SUBCOMMAND) {
        return confine::launch(words);
    }
    #[cfg(target_os = "linux")]
    huge_pages::disable_for_shim(std::env::args_os().nth(1).as_deref());
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|verb| verb == "help") && words.next().is_none() {
        // If the output is closed, there is nobody to report to.
        let _ = output::text(&help::full_help().ansi().to_string());
        return Exit::Ok.into();
    }
    let ParsedCommand { cli, format } = match parse_arguments() {
        Ok(parsed) => parsed,
        Err(error) => {
            if let Some(failure) = config_path::no_store_failure(&error) {
                output::failure(&failure, OutputFormat::Text);
                return failure.exit.into();
            }
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            // If the output is closed, there is nobody to report to.
            let _ = error.print();
            return exit.into();
        }
    };
    let result = match cli.command {
        #[cfg(target_os = "linux")]
        Some(command) if is_service(&command) => match init_process::run_in_child() {
            Ok(Some(code)) => return ExitCode::from(code),
            Ok(None) => run(command),
            Err(failure) => Err(failure),
        },
        Some(command) => run(command),
        None => overview::run(cli.config),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) if failure.code == failure::OUTPUT_CLOSED => Exit::Ok.into(),
        Err(failure) => {
            output::failure(&failure, format);
            failure.exit.into()
        }
    }
}

/// Whether the command is a gateway that a container or a service manager may run.
#[cfg(target_os = "linux")]
fn is_service(command: &Command) -> bool {
    match command {
        Command::Daemon(args) => !args.started_by_client,
        Command::Serve(args) => args.standalone,
        _ => false,
    }
}

/// The parsed command line, and the format of its output and of a failure.
struct ParsedCommand {
    cli: Cli,
    format: OutputFormat,
}

fn parse_arguments() -> Result<ParsedCommand, clap::Error> {
    let mut command = help::command();
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    let format = output_format("", &matches);
    let cli =
        Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
    Ok(ParsedCommand { cli, format })
}

/// JSON if the innermost command has `--json`, or `--log-format json`.
fn output_format(parent: &str, matches: &ArgMatches) -> OutputFormat {
    match matches.subcommand() {
        // An export is always for scripts.
        Some(("export", _)) if parent == "memory" => OutputFormat::Json,
        Some((name, submatches)) => output_format(name, submatches),
        None => {
            let json = matches.try_get_one::<bool>("json").ok().flatten().copied();
            let log = matches.try_get_one::<serve::LogFormatName>("format").ok().flatten();
            let is_json = json.unwrap_or(false) || log == Some(&serve::LogFormatName::Json);
            OutputFormat::from_flag(is_json)
        }
    }
}

fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Init(args) => init::run(&args),
        Command::Update(args) => init::update::run(&args),
        Command::Remove(args) => remove::run(&args),
        Command::Review(args) => init::review::run(&args),
        Command::Connect(args) => connect::run(&args),
        Command::Disconnect(args) => connect::disconnect(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Daemon(args) => daemon::run(&args),
        Command::Status(args) => daemon::status(&args),
        Command::Stop(args) => daemon::stop(&args),
        Command::Restart(args) => daemon::restart::run(&args),
        Command::Logs(args) => daemon::logs::run(&args),
        Command::Clients(args) => clients::run(args),
        Command::Login(args) => login::run(&args),
        Command::Logout(args) => login::logout(&args),
        #[cfg(unix)]
        Command::Service(args) => service::run(args),
        Command::Demo(args) => demo::run(&args),
        Command::DemoServer { root } => demo::serve(&root),
        Command::Check(args) => check::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Man(args) => man_pages::run(&args, help::command()),
        Command::Keys(args) => keys::run(args),
        Command::Sign(args) => sign::run(&args),
        Command::Trace(args) => trace::run(*args),
        Command::Allow(args) => allow::run(&args),
        Command::Posture(args) => posture::run(&args),
        Command::Approve(args) => approve::run(*args),
        Command::Policy(args) => policy::run(*args),
        Command::Kernel(args) => kernel::run(args),
        Command::Contracts(args) => contracts::run(*args),
        Command::Feedback(args) => approve::feedback::run(&args),
        Command::Memory(args) => memory::run(*args),
        Command::Route(args) => route::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Catalog(args) => catalog::run(*args),
        Command::Redact(args) => redact::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Reasons(args) => reasons::run(&args),
        Command::Schema { of } => schema::run(of),
        Command::Completions { shell } => completions::run(shell),
    }
}
