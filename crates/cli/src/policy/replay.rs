//! `weaver policy replay`: decides recorded calls again under a draft.

use std::path::{Path, PathBuf};

use serde_json::json;
use weaver_policy::PolicySet;
use weaver_policy_analysis::history::CallHistory;
use weaver_policy_analysis::replay::{self, DraftReplay};
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock, Timestamp};

use super::args::{HistorySource, Replay};
use super::{documents, history};
use crate::{Exit, Failure, output};

/// The most changed calls that are listed.
const MAX_CALLS_SHOWN: usize = 20;

/// The paths of the ledger, the contracts, the policy and the keys.
pub(crate) struct HistoryPaths {
    pub(crate) store: PathBuf,
    pub(crate) contracts: PathBuf,
    /// The policy of the configuration.
    pub(crate) policy: Option<PathBuf>,
    pub(crate) keys: Option<PathBuf>,
}

impl HistoryPaths {
    /// The paths in the arguments, completed from the configuration.
    pub(crate) fn of(args: &HistorySource) -> Result<Self, Failure> {
        let calls = args.store.as_ref().or(args.history.as_ref());
        if let (Some(store), Some(contracts)) = (calls, &args.contracts) {
            let (store, contracts) = (store.clone(), contracts.clone());
            return Ok(Self { store, contracts, policy: None, keys: None });
        }
        let file = args.config.resolve()?;
        let config = weaver_gateway::config::load(&file)?;
        let keys = config.documents_folder.join("keys.toml");
        Ok(Self {
            store: args.store.clone().unwrap_or(config.store_path),
            contracts: args
                .contracts
                .clone()
                .unwrap_or(config.documents_folder.join("contracts.toml")),
            policy: Some(config.documents_folder.join("policy.toml")),
            keys: keys.is_file().then_some(keys),
        })
    }

    /// The recorded calls.
    pub(super) fn calls(
        &self,
        args: &HistorySource,
        now: Timestamp,
    ) -> Result<CallHistory, Failure> {
        match &args.history {
            Some(file) => history::read_file(file),
            None => history::read_ledger(&self.store, args.since, now),
        }
    }

    /// The policy set of a draft together with the other documents.
    pub(crate) fn draft(&self, policy: &Path, now: Timestamp) -> Result<PolicySet, Failure> {
        let keys = self.keys.as_deref();
        Ok(documents::load_files(policy, &self.contracts, keys, now)?.set)
    }
}

pub(super) fn run(args: &Replay) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let paths = HistoryPaths::of(&args.source)?;
    let draft = paths.draft(&args.draft, now)?;
    let history = paths.calls(&args.source, now)?;
    let report = replay_history(&draft, &history, args.source.since, now);
    if args.output.json {
        output::json(&json!({
            "summary": report.summary(),
            "replay": report,
            "unread": history.unreadable_count(),
            "cut": history.is_truncated(),
        }))?;
    } else {
        output::text(&report_text(&report, &history))?;
    }
    let same = report.is_unchanged() && history.unreadable_count() == 0;
    Ok(if args.exit_code && !same { Exit::Failed } else { Exit::Ok })
}

/// Replays a history under a draft.
pub(crate) fn replay_history(
    draft: &PolicySet,
    history: &CallHistory,
    span: std::time::Duration,
    now: Timestamp,
) -> DraftReplay {
    replay::replay(draft, history.calls(), now.before(span), now)
}

/// The replay as text, the summary first.
pub(crate) fn report_text(report: &DraftReplay, history: &CallHistory) -> String {
    let mut out = format!("{}\n", output::bold(&report.summary()));
    for (source, counts) in &report.by_rule {
        let now = &counts.now;
        let parts = [
            (now.allow, "allowed"),
            (now.ask, "sent back"),
            (now.hold, "held"),
            (now.deny, "denied"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(many, _)| *many > 0)
            .map(|(many, word)| format!("{many} {word}"))
            .collect();
        let source = escape::line(source);
        let other = match counts.changed {
            0 => String::new(),
            many => format!(", {many} of them another verdict than then"),
        };
        out.push_str(&format!("  {source}: {}{other}\n", parts.join(", ")));
    }
    for call in report.changed.iter().take(MAX_CALLS_SHOWN) {
        let (capability, source) = (escape::line(&call.capability), escape::line(&call.source));
        let then = match call.would_have {
            Some(would) => format!("{} (would have been {would})", call.then),
            None => call.then.to_string(),
        };
        let id = output::dim(&escape::line(&call.call));
        out.push_str(&format!("  {then} → {}  {capability}  {source}  {id}\n", call.now));
    }
    if report.changed_total > MAX_CALLS_SHOWN {
        let more = report.changed_total - MAX_CALLS_SHOWN;
        out.push_str(&format!("  and {more} more; all of them with --json\n"));
    }
    for (reason, many) in &report.not_judged {
        let calls = output::counted(*many, "call");
        out.push_str(&format!("not judged: {calls}: {}\n", reason.as_str()));
    }
    if history.unreadable_count() > 0 {
        let many = history.unreadable_count();
        out.push_str(&format!("not judged: {many} decisions that are pruned or cannot be read\n"));
    }
    if history.is_truncated() {
        out.push_str("not judged: later calls, since there are more than a replay keeps\n");
    }
    out
}
