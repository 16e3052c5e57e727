//! Checks the configuration, the signed documents, and the keys in them.

use std::time::Duration;

use weaver_gateway::config::{self, ConfigErrors};
use weaver_gateway::expiry::{self, Expiry, ExpiryKind};
use weaver_gateway::start_check;
use weaver_policy::PolicySet;
use weaver_text::escape;
use weaver_types::Timestamp;

use super::CheckContext;
use super::health_check::HealthCheck;

/// How long before a document or key ends that is told.
const NOTICE_PERIOD: Duration = Duration::from_secs(30 * 86_400);

/// The check of a configuration or document that cannot be loaded, with its first finding.
pub(super) fn load_failure(subject: &str, errors: &ConfigErrors) -> HealthCheck {
    let findings = errors.findings();
    let first = findings.first().map_or_else(String::new, |finding| {
        let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}: {}", finding.file, finding.message)
    });
    let more = match findings.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let found = format!("{}{more}", escape::line(&first));
    let next = match findings {
        [only] if !only.remedy.is_empty() => only.remedy.as_str(),
        _ => "`weaver check` lists everything that is wrong",
    };
    HealthCheck::bad(subject, found, next)
}

pub(super) fn checks(context: &CheckContext) -> Vec<HealthCheck> {
    let set = match config::load_policy(
        &context.config,
        config::SignatureChecks::Required,
        context.now,
    ) {
        Ok(set) => set,
        Err(errors) => return vec![load_failure("documents", &errors)],
    };
    let versions: Vec<String> = set
        .versions()
        .iter()
        .map(|(kind, document)| format!("{kind} {} version {}", document.id, document.version))
        .collect();
    let mut checks = vec![HealthCheck::good("documents", versions.join(", "))];
    let problems = start_check::problems(&context.config, &set);
    checks.extend(problems.iter().map(|problem| {
        let found = format!("{}: {}", problem.file, problem.message);
        HealthCheck::bad("start", escape::line(&found), &problem.remedy)
    }));
    let expiries = expiry::of_documents(&set);
    checks.extend(expiries.iter().filter_map(|expiry| expiry_check(expiry, context.now)));
    checks.push(approvers_check(&set, context.now));
    checks
}

/// Says that a document or key has ended, or ends soon.
fn expiry_check(expiry: &Expiry, now: Timestamp) -> Option<HealthCheck> {
    const SIGN_AGAIN: &str = "sign a new version: `weaver sign FILE`";
    const ADD_KEY: &str =
        "add another key to keys.toml and sign it: `weaver keys new`, `weaver sign`";
    let name = &expiry.name;
    let (what, next) = match expiry.kind {
        ExpiryKind::ApproverKey => (format!("the last key of the approver `{name}`"), ADD_KEY),
        ExpiryKind::SignerKey => (format!("the key of the signer `{name}`"), ADD_KEY),
        _ => (format!("the {name} document"), SIGN_AGAIN),
    };
    let at = expiry.at.rfc3339();
    if expiry.at <= now {
        return Some(HealthCheck::bad("keys", format!("{what} has ended at {at}"), next));
    }
    (expiry.at.since(now) < NOTICE_PERIOD)
        .then(|| HealthCheck::notable("keys", format!("{what} ends at {at}"), next))
}

fn approvers_check(set: &PolicySet, now: Timestamp) -> HealthCheck {
    let people = set.keys().map(|keys| &keys.approvers);
    let counting = people
        .into_iter()
        .flatten()
        .filter(|(_, approver)| approver.keys.values().any(|key| key.is_valid_at(now)));
    let names: Vec<&str> = counting.map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [] => HealthCheck::notable(
            "approvers",
            "nobody can release a held call",
            "make a key and name it in keys.toml: `weaver keys new --out me.key --id me`",
        ),
        names => HealthCheck::good("approvers", names.join(", ")),
    }
}
