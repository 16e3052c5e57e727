//! `weaver catalog convert`.

use contextweaver::catalog;
use serde_json::json;
use weaver_text::escape;

use super::args::Convert;
use super::{Exit, Failure, output, source};

pub(super) fn run(args: &Convert) -> Result<Exit, Failure> {
    let items = source::load_catalog(&args.file, &args.input)?;
    let written = catalog::write(&items, args.to)
        .map_err(|error| source::catalog_failure(&args.file, &error))?;
    for note in &written.notes {
        output::stderr(&format!("{}: {}\n", output::bold("note"), escape::line(note)));
    }
    match &args.out {
        None => output::text(&written.text)?,
        Some(out) => {
            args.replace.write(out, &written.text, "catalog.unwritable")?;
            if args.output.json {
                output::json(&json!({
                    "ok": true,
                    "file": out.display().to_string(),
                    "format": args.to.as_str(),
                    "items": items.len(),
                    "notes": written.notes,
                }))?;
            } else {
                output::line(&format!("{} items, in {}", items.len(), out.display()))?;
            }
        }
    }
    Ok(Exit::Ok)
}
