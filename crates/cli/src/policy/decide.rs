//! `weaver policy decide`.

use std::io::{self, BufWriter, Write as _};

use weaver_policy_analysis::Evaluator;
use weaver_types::{Clock as _, SystemClock};

use super::args::Decide;
use super::{documents, request_lines};
use crate::{Exit, Failure};

pub(super) fn run(args: &Decide) -> Result<Exit, Failure> {
    let loaded = documents::load(&args.documents, SystemClock::default().now())?;
    let mut evaluator = Evaluator::new(&loaded.set);
    let mut requests = request_lines::RequestReader::open(&args.requests)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut invalid = 0;
    while let Some(line) = requests.read_next()? {
        let answer = line.request.and_then(|request| evaluator.evaluate(&request));
        let answer = match answer {
            Ok(answer) => serde_json::to_string(&answer).map_err(io::Error::from)?,
            Err(error) => {
                invalid += 1;
                request_lines::error_json(line.number, &error).to_string()
            }
        };
        writeln!(out, "{answer}")?;
        if !line.more_at_hand {
            out.flush()?;
        }
    }
    out.flush()?;
    if invalid == 0 { Ok(Exit::Ok) } else { Err(request_lines::invalid_lines_failure(invalid)) }
}
