//! `weaver policy suggest`: rules that allow what was done.

use serde_json::json;
use weaver_policy_analysis::suggest::{self, Suggestions};
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock};

use super::args::Suggest;
use super::documents;
use super::replay::HistoryPaths;
use crate::{Exit, Failure, output};

/// A policy that says nothing: contracts alone count for what a tool can do.
const NO_RULES: &str = "kind = \"policy\"\nformat = 1\nid = \"none\"\nversion = 1\n";

pub(super) fn run(args: &Suggest) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let place = HistoryPaths::of(&args.source)?;
    let set = documents::with_contracts(NO_RULES, &place.contracts, now)?;
    let history = place.calls(&args.source, now)?;
    let suggestions = suggest::suggest(&set, history.calls());
    if args.output.json {
        output::json(&as_json(&suggestions))?;
    } else {
        output::text(&suggest::policy_text(&suggestions))?;
        output::aside(&beside(&suggestions));
    }
    Ok(if suggestions.rules.is_empty() { Exit::Failed } else { Exit::Ok })
}

fn as_json(suggestions: &Suggestions) -> serde_json::Value {
    let rules = suggestions.rules.iter().map(|one| {
        json!({
            "name": one.rule.name,
            "effect": one.rule.effect,
            "text": suggest::rule_text(&one.rule),
            "calls": one.calls,
            "after_untrusted": one.after_untrusted,
            "named": one.named,
            "not_covered": one.not_covered,
            "uncalled": one.uncalled,
        })
    });
    json!({ "rules": rules.collect::<Vec<_>>(), "left_out": suggestions.left_out })
}

/// What stands beside the rules: what they do not rest on, and what to do with them.
fn beside(suggestions: &Suggestions) -> String {
    let mut out = String::new();
    let calls = |many: usize| if many == 1 { "1 call".to_owned() } else { format!("{many} calls") };
    for (reason, left) in &suggestions.left_out {
        let first = left.named.first().map(|call| escape::line(call)).unwrap_or_default();
        let such = format!("{} {}", calls(left.calls), reason.as_str());
        out.push_str(&format!("{}: {such}; for example {first}\n", output::bold("left out")));
    }
    if suggestions.rules.is_empty() {
        out.push_str("nothing to suggest: no call of this time counts\n");
    } else {
        out.push_str(
            "next: put the rules into policy.toml in place of those that are there, then\n  \
             weaver policy replay policy.toml\n",
        );
    }
    out
}
