//! `weaver policy suggest`: suggests rules that allow what was done.

use serde_json::json;
use weaver_policy::{Effect, PolicySet};
use weaver_policy_analysis::suggest::{self, Suggestions};
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock};

use super::args::Suggest;
use super::documents;
use super::replay::HistoryPaths;
use crate::{Exit, Failure, output};

/// The comment above the rules.
const HEAD: &str = "# They take the place of rules that allow. Rules that hold or deny stay: the strictest wins.\n";
/// A policy without rules, so that only the contracts tell what a tool may do.
const EMPTY_POLICY: &str = "kind = \"policy\"\nformat = 1\nid = \"none\"\nversion = 1\n";

pub(super) fn run(args: &Suggest) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let paths = HistoryPaths::of(&args.source)?;
    let set = documents::load_policy_text(EMPTY_POLICY, &paths.contracts, now)?;
    let history = paths.calls(&args.source, now)?;
    let suggestions = suggest::suggest(&set, history.calls());
    if args.output.json {
        output::json(&suggestions_json(&suggestions))?;
    } else {
        if !suggestions.rules.is_empty() {
            output::text(HEAD)?;
        }
        output::text(&suggest::policy_text(&suggestions))?;
        let policy = paths.policy.as_deref().and_then(|policy| paths.draft(policy, now).ok());
        output::stderr(&notes_text(&suggestions, policy.as_ref()));
    }
    Ok(if suggestions.rules.is_empty() { Exit::Failed } else { Exit::Ok })
}

fn suggestions_json(suggestions: &Suggestions) -> serde_json::Value {
    let rules = suggestions.rules.iter().map(|one| {
        json!({
            "name": one.rule.name,
            "effect": one.rule.effect,
            "text": suggest::rule_text(&one.rule),
            "calls": one.calls,
            "after_untrusted": one.after_untrusted,
            "named": one.example_calls,
            "not_covered": one.not_covered,
            "uncalled": one.uncalled,
        })
    });
    json!({ "rules": rules.collect::<Vec<_>>(), "left_out": suggestions.excluded })
}

/// Notes on the rules: which calls they do not rest on, and the next step. The rules are evidence of
/// what was allowed, so they say nothing about what the policy holds or denies.
fn notes_text(suggestions: &Suggestions, policy: Option<&PolicySet>) -> String {
    let mut out = String::new();
    for (reason, left) in &suggestions.excluded {
        let first = left.named.first().map(|call| escape::line(call)).unwrap_or_default();
        let such = format!("{} {}", output::counted(left.calls, "call"), reason.as_str());
        out.push_str(&format!("{}: {such}; for example {first}\n", output::bold("left out")));
    }
    if suggestions.rules.is_empty() {
        out.push_str("nothing to suggest: no call of this time counts\n");
    } else {
        let rules = policy.into_iter().flat_map(|set| &set.policy().rules);
        let stricter = rules.filter(|rule| rule.effect != Effect::Allow);
        let names: Vec<String> = stricter.map(|rule| format!("`{}`", rule.name)).collect();
        let names =
            if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        out.push_str(&format!(
            "next: put the rules into policy.toml in place of those that allow, and\n  \
             keep those that hold or deny{names}\n  \
             weaver policy replay policy.toml\n",
        ));
    }
    out
}
