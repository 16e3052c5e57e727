//! The `weaver` command.
//!
//! Arguments are read in two steps: what was typed, then what it names. Nothing but data is written
//! to standard output; whatever goes wrong is said on standard error, with the next step, and ends
//! in one of the documented [`Exit`] codes.

mod age;
mod allow;
mod approve;
mod args;
mod argument_error;
mod catalog;
mod check;
#[cfg(unix)]
mod clients;
mod compile;
mod completions;
mod config_path;
mod connect;
mod contracts;
#[cfg(unix)]
mod daemon;
mod demo;
mod doctor;
mod exit;
mod failure;
mod help;
#[cfg(target_os = "linux")]
mod huge_pages;
mod init;
mod inspect;
mod kernel;
mod keys;
mod line_reader;
mod logging;
#[cfg(unix)]
mod login;
mod man_pages;
mod memory;
mod output;
mod overview;
mod policy;
mod reasons;
mod redact;
#[cfg(test)]
mod reference;
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

use clap::FromArgMatches as _;
use mimalloc::MiMalloc;
use weaver_drivers::confine;
use weaver_gateway::serve::LAUNCH;

use args::{Cli, Command, Keys};
pub(crate) use exit::Exit;
pub(crate) use failure::Failure;
use output::OutputFormat;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // Before anything else: a launcher has one thread, and nothing open.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|verb| verb == LAUNCH) {
        return confine::launch(words);
    }
    #[cfg(target_os = "linux")]
    huge_pages::avoid(std::env::args_os().nth(1).as_deref());
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|verb| verb == "help") && words.next().is_none() {
        // A closed output leaves nothing to be said.
        let _ = output::text(&help::whole().ansi().to_string());
        return Exit::Ok.into();
    }
    let cli = match parsed() {
        Ok(cli) => cli,
        Err(error) => {
            if let Some(failure) = config_path::no_store(&error) {
                output::failure(&failure, OutputFormat::Text);
                return failure.exit.into();
            }
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            // A closed output leaves nothing to be said.
            let _ = error.print();
            return exit.into();
        }
    };
    let format = cli.command.as_ref().map(Command::output_format).unwrap_or_default();
    let ran = match cli.command {
        Some(command) => run(command),
        None => overview::run(),
    };
    match ran {
        Ok(exit) => exit.into(),
        Err(failure) if failure.code == failure::CLOSED => Exit::Ok.into(),
        Err(failure) => {
            output::failure(&failure, format);
            failure.exit.into()
        }
    }
}

/// What was typed.
fn parsed() -> Result<Cli, clap::Error> {
    let mut command = help::command();
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Init(args) => init::run(&args),
        Command::Update(args) => init::update::run(&args),
        Command::Connect(args) => connect::run(&args),
        Command::Disconnect(args) => connect::disconnect(&args),
        Command::Serve(args) => serve::run(&args),
        #[cfg(unix)]
        Command::Daemon(args) => daemon::run(&args),
        #[cfg(unix)]
        Command::Status(args) => daemon::status(&args),
        #[cfg(unix)]
        Command::Stop(args) => daemon::stop(&args),
        #[cfg(unix)]
        Command::Restart(args) => daemon::restart(&args),
        #[cfg(unix)]
        Command::Logs(args) => daemon::logs(&args),
        #[cfg(unix)]
        Command::Clients(args) => clients::run(args),
        #[cfg(unix)]
        Command::Login(args) => login::run(&args),
        #[cfg(unix)]
        Command::Logout(args) => login::logout(&args),
        #[cfg(unix)]
        Command::Service(args) => service::run(args),
        Command::Demo(args) => demo::command::run(args),
        Command::DemoServer { root } => demo::command::serve(&root),
        Command::Check(args) => check::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Man(args) => man_pages::run(&args, help::command()),
        Command::Keys(args) => keys::run(args),
        Command::Sign(args) => sign::run(&args),
        Command::Trace(args) => trace::run(*args),
        Command::Allow(args) => allow::run(&args),
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

impl Command {
    /// The form of the output, and so of a failure.
    fn output_format(&self) -> OutputFormat {
        match self {
            Self::Init(args) => args.output_format(),
            Self::Update(args) => args.output_format(),
            Self::Connect(args) => args.output_format(),
            Self::Disconnect(args) => args.output_format(),
            Self::Demo(args) => OutputFormat::from_flag(args.json),
            #[cfg(unix)]
            Self::Status(args) | Self::Stop(args) => args.output.format(),
            #[cfg(unix)]
            Self::Clients(args) => args.output_format(),
            #[cfg(unix)]
            Self::Login(args) => args.output.format(),
            #[cfg(unix)]
            Self::Logout(args) => args.output.format(),
            #[cfg(unix)]
            Self::Daemon(args) => args.output_format(),
            #[cfg(unix)]
            Self::Restart(_) | Self::Logs(_) | Self::Service(_) => OutputFormat::Text,
            Self::Serve(args) => args.output_format(),
            Self::Check(args) | Self::Doctor(args) => args.output.format(),
            Self::Sign(args) => args.output.format(),
            Self::Reasons(args) => args.format(),
            Self::Keys(Keys::New { output, .. } | Keys::Show { output, .. }) => output.format(),
            Self::Allow(args) => args.output_format(),
            Self::Approve(args) => args.output_format(),
            Self::Policy(args) => args.output_format(),
            Self::Kernel(args) => args.output_format(),
            Self::Contracts(args) => args.output_format(),
            Self::Feedback(args) => args.output_format(),
            Self::Memory(args) => args.output_format(),
            Self::Trace(args) => args.output_format(),
            Self::Redact(args) => args.output_format(),
            Self::Replay(args) => args.output.format(),
            Self::Inspect(args) => args.output.format(),
            Self::Route(args) => args.output.format(),
            Self::Catalog(args) => args.output_format(),
            Self::Compile(_)
            | Self::Man(_)
            | Self::Schema { .. }
            | Self::DemoServer { .. }
            | Self::Completions { .. } => OutputFormat::Text,
        }
    }
}
