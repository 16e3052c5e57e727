//! `weaver policy decide`.

use std::io::{self, BufWriter, Write as _};

use weaver_policy_analysis::Evaluator;
use weaver_types::{Clock as _, SystemClock};

use super::args::Decide;
use super::{documents, lines};
use crate::{Exit, Failure};

pub(super) fn run(args: &Decide) -> Result<Exit, Failure> {
    let loaded = documents::load(&args.documents, SystemClock::default().now())?;
    let mut evaluator = Evaluator::new(&loaded.set);
    let mut requests = lines::Lines::open(&args.requests)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut wrong = 0;
    while let Some(line) = requests.next()? {
        let answer = line.request.and_then(|request| evaluator.evaluate(&request));
        let answer = match answer {
            Ok(answer) => serde_json::to_string(&answer).map_err(io::Error::from)?,
            Err(error) => {
                wrong += 1;
                lines::error(line.number, &error).to_string()
            }
        };
        writeln!(out, "{answer}")?;
        if !line.more_at_hand {
            out.flush()?;
        }
    }
    out.flush()?;
    if wrong == 0 { Ok(Exit::Ok) } else { Err(lines::invalid(wrong)) }
}
