//! `weaver policy`: examines documents without deciding any real call.

pub(super) mod args;
mod ask;
mod catalogue;
mod decide;
pub(super) mod diff;
pub(super) mod documents;
mod edit;
mod explain;
pub(super) mod history;
pub(super) mod lint;
pub(super) mod replay;
mod request_lines;
pub(super) mod signing;
mod suggest;
mod test;

use weaver_policy::Policy;

use super::{Exit, Failure, output};
use args::Policy as Args;

pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    match args {
        Args::Lint(args) => lint::run(&args),
        Args::Test(args) => test::run(&args),
        Args::Explain(args) => explain::run(&args),
        Args::Decide(args) => decide::run(&args),
        Args::Ask(args) => ask::run(&args),
        Args::Diff(args) => diff::run(&args),
        Args::Replay(args) => replay::run(&args),
        Args::Suggest(args) => suggest::run(&args),
        Args::Edit(args) => edit::run(&args),
        Args::ShowBaseline => {
            output::text(Policy::baseline_text())?;
            Ok(Exit::Ok)
        }
    }
}
