//! `weaver policy ask`.

use serde_json::{Value, json};
use weaver_policy_analysis::{Reachability, ReachabilityQuery};
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock, Timestamp};

use super::args::{Ask, ExpectedAnswer};
use super::{catalogue, documents};
use crate::{Exit, Failure, output};

pub(super) fn run(args: &Ask) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let loaded = documents::load(&args.documents, now)?;
    let catalogue = catalogue::load(args.catalogue.as_deref(), &loaded.set)?;
    let answer = reachability_query(args, now).solve(&loaded.set, &catalogue);
    if args.output.json {
        let mut out = serde_json::to_value(&answer).unwrap_or(Value::Null);
        if let Some(out) = out.as_object_mut() {
            out.insert("origin".to_owned(), json!(documents::origin_name(&loaded.set)));
        }
        output::json(&out)?;
    } else {
        output::text(&answer_text(&answer))?;
    }
    let as_expected = match (args.expect, &answer) {
        (None, _) | (Some(ExpectedAnswer::Yes), Reachability::Reachable { .. }) => true,
        // A question that matches no capability usually has a wrong name in it, so it proves
        // nothing.
        (Some(ExpectedAnswer::No), Reachability::Unreachable { capabilities }) => *capabilities > 0,
        (Some(_), _) => false,
    };
    Ok(if as_expected { Exit::Ok } else { Exit::Failed })
}

fn reachability_query(args: &Ask, now: Timestamp) -> ReachabilityQuery {
    ReachabilityQuery {
        operation: args.operation,
        capability: args.capability.clone(),
        class: args.class.iter().copied().collect(),
        rung: args.rung.iter().copied().collect(),
        impact: args.impact.iter().copied().collect(),
        sink: args.sink.iter().copied().collect(),
        principal: args.principal.clone(),
        known_principals: args.known_principals,
        with_roles: args.with_role.iter().cloned().collect(),
        without_roles: args.without_role.iter().cloned().collect(),
        mode: args.mode.iter().copied().collect(),
        confidentiality: args.confidentiality.iter().copied().collect(),
        integrity: args.integrity.iter().copied().collect(),
        justified: args.justified,
        arguments: args.with_arguments,
        ..ReachabilityQuery::new(args.verdict, now)
    }
}

fn answer_text(answer: &Reachability) -> String {
    match answer {
        Reachability::Reachable { witness } => {
            let request = escape::line(&witness.request.to_string()).into_owned();
            let (verdict, reason) = (witness.verdict, witness.primary.as_str());
            format!("{}: for example, with {verdict} ({reason}):\n{request}\n", output::bold("yes"))
        }
        Reachability::Unreachable { capabilities: 0 } => {
            format!(
                "{}: no capability matches the question; ask about fewer things, or give `--catalogue`\n",
                output::bold("no")
            )
        }
        Reachability::Unreachable { capabilities } => {
            format!("{}: nobody can, for any of {capabilities} capabilities\n", output::bold("no"))
        }
        Reachability::Undecided { why } => {
            format!("{}: {}\n", output::bold("not decided"), escape::line(why))
        }
    }
}
