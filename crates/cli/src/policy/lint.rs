//! `weaver policy lint`.

use serde_json::json;
use weaver_policy::PolicySet;
use weaver_policy_analysis::{self as analysis, CapabilitySet, LintCode, LintFinding};
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock, Timestamp};

use super::args::Lint;
use super::{catalogue, documents};
use crate::{Exit, Failure, output};

/// Approvers who can release their own calls, probably by mistake.
pub(crate) fn approver_notes(set: &PolicySet, now: Timestamp) -> Vec<String> {
    let found = analysis::lint(set, &CapabilitySet::from_documents(set), now);
    let codes = [LintCode::UnknownApproverPrincipal, LintCode::ApproverWithoutPrincipals];
    let found = found.into_iter().filter(|one| codes.contains(&one.code));
    let line = |one: LintFinding| format!("{}: {}", one.place, one.message);
    found.map(|one| escape::line(&line(one)).into_owned()).collect()
}

pub(super) fn run(args: &Lint) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let loaded = documents::load(&args.documents, now)?;
    let catalogue = catalogue::load(args.catalogue.as_deref(), &loaded.set)?;
    let mut found = analysis::lint(&loaded.set, &catalogue, now);
    // Without a keys document, every rule would be reported as impossible to release.
    let about_keys = [LintCode::NobodyCanRelease, LintCode::UnknownApproverRole];
    found.retain(|one| loaded.with_keys || !about_keys.contains(&one.code));
    if args.output.json {
        let origin = documents::origin_name(&loaded.set);
        output::json(&json!({ "findings": found, "origin": origin }))?;
    } else {
        let mut out = String::new();
        for one in &found {
            let line = |text: &str| escape::line(text).into_owned();
            let code = output::dim(&format!("[{}]", one.code.as_str()));
            let (place, message) = (output::bold(&line(&one.place)), line(&one.message));
            out.push_str(&format!("{place}: {message} {code}\n  → {}\n", line(&one.remedy)));
        }
        out.push_str(&match found.len() {
            0 => "nothing found\n".to_owned(),
            1 => "1 finding\n".to_owned(),
            many => format!("{many} findings\n"),
        });
        output::text(&out)?;
    }
    Ok(if args.strict && !found.is_empty() { Exit::Failed } else { Exit::Ok })
}
