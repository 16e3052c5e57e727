//! `weaver trace index`.

use std::path::Path;

use serde_json::json;
use weaver_trace_store::index::{Index, IndexError};

use super::args::IndexArgs;
use super::progress::Progress;
use crate::{Exit, Failure, output};

pub(super) fn run(args: &IndexArgs) -> Result<Exit, Failure> {
    let store = &args.ledger.store;
    let reader = super::open_ledger(store)?;
    let failed = |error: IndexError| index_failure(store, error);
    if args.rebuild {
        Index::remove(store).map_err(failed)?;
    }
    let mut progress = Progress::new("indexed");
    let mut at = |done, all| progress.at(done, all);
    let (position, size, wrong) = if args.rebuild || args.check {
        let index = Index::open(store, &reader).map_err(failed)?;
        let status = index.catch_up(&reader, &mut at).map_err(failed)?;
        let wrong = match args.check {
            true => Some(index.check(&reader, &mut at).map_err(failed)?.wrong),
            false => None,
        };
        (status.position, status.size, wrong)
    } else {
        let size = reader.head().map_err(|error| Failure::store(store, &error))?.size;
        let status = Index::find(store, &reader).map(|index| index.status(&reader));
        (status.transpose().map_err(failed)?.map_or(0, |status| status.position), size, None)
    };
    progress.end();
    let right = wrong.is_none_or(|wrong| wrong == 0);
    if args.output.json {
        let wrong = wrong.map(|wrong| json!(wrong));
        output::json(&json!({ "ok": right, "indexed": position, "events": size, "wrong": wrong }))?;
    } else {
        let checked = match wrong {
            None => String::new(),
            Some(0) => format!("; {}", output::good("it is what the log gives")),
            Some(wrong) => format!(
                "; {}: run `weaver trace index --rebuild`",
                output::bad(&format!("{wrong} entries are wrong"))
            ),
        };
        output::line(&format!("indexed up to {position} of {size} events{checked}"))?;
    }
    Ok(if right { Exit::Ok } else { Exit::Failed })
}

fn index_failure(store: &Path, error: IndexError) -> Failure {
    match error {
        IndexError::Log(error) => Failure::store(store, &error),
        error => Failure::new(Exit::Store, error.code(), error)
            .with_next_step("questions are answered without it; delete the file to begin anew"),
    }
}
