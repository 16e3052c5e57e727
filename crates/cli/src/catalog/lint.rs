//! `weaver catalog lint`.

use contextweaver::catalog::{Finding, Severity};
use serde_json::json;
use weaver_text::escape;

use super::args::Lint;
use super::{Exit, Failure, output, source, suspicious_text};

pub(super) fn run(args: &Lint) -> Result<Exit, Failure> {
    let loaded = source::entries(&args.file, &args.input)?;
    let mut findings = loaded.findings();
    findings.extend(suspicious_text::findings(&loaded, &findings));
    let count = |severity| findings.iter().filter(|one| one.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let good = errors == 0 && (warnings == 0 || !args.strict);
    if args.output.json {
        output::json(&json!({
            "ok": good,
            "file": args.file.display().to_string(),
            "format": loaded.format.as_str(),
            "entries": loaded.entries.len(),
            "errors": errors,
            "warnings": warnings,
            "notes": count(Severity::Note),
            "findings": findings,
        }))?;
    } else {
        let mut out: String = findings.iter().map(finding_text).collect();
        let verdict = if good { output::good("in order") } else { output::bad("not in order") };
        let entries = loaded.entries.len();
        out.push_str(&format!(
            "{verdict}: {entries} entries ({}), {errors} errors, {warnings} warnings, {} notes\n",
            loaded.format,
            count(Severity::Note)
        ));
        output::text(&out)?;
    }
    Ok(if good { Exit::Ok } else { Exit::Failed })
}

fn finding_text(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => output::bad("error"),
        Severity::Warning => output::bold("warning"),
        Severity::Note => output::dim("note"),
    };
    let (item, message) = (escape::line(&finding.item), escape::line(&finding.message));
    let code = output::dim(&format!("[{}]", finding.code));
    format!("{severity}: {}: {message} {code}\n  → {}\n", output::bold(&item), finding.next)
}
