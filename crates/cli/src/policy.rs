//! `weaver policy`: what documents would say, without deciding anything for anybody.

pub(super) mod args;
mod ask;
mod catalogue;
mod decide;
mod diff;
pub(super) mod documents;
mod explain;
mod lines;
mod lint;
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
        Args::ShowBaseline => {
            output::text(Policy::baseline_text())?;
            Ok(Exit::Ok)
        }
    }
}
