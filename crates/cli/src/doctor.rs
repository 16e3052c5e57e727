//! `weaver doctor`: checks everything that a gateway depends on, and says what to do about each
//! problem.
//!
//! A check that fails does not stop the others: whoever runs `doctor` has a problem already.

mod documents;
mod health_check;
mod logins;
mod state;

use serde_json::json;
use weaver_gateway::config;
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock};

use super::args::Check;
use super::{Exit, Failure, output};
use health_check::{Health, HealthCheck};

/// What every check needs.
struct CheckContext {
    config: config::Config,
    now: weaver_types::Timestamp,
}

pub(super) fn run(args: &Check) -> Result<Exit, Failure> {
    let found = examine(args);
    let worst = found.iter().map(|one| one.health).max().unwrap_or(Health::Good);
    if args.output.json {
        let ok = worst < Health::Bad;
        output::json(&json!({ "ok": ok, "checks": found }))?;
    } else {
        output::text(&shown(&found))?;
    }
    Ok(if worst < Health::Bad { Exit::Ok } else { Exit::Failed })
}

fn examine(args: &Check) -> Vec<HealthCheck> {
    let config = match config::load(&args.config) {
        Ok(config) => config,
        Err(errors) => return vec![documents::refused("configuration", &errors)],
    };
    let checked = CheckContext { config, now: SystemClock::default().now() };
    let file = escape::line(&checked.config.file.display().to_string()).into_owned();
    let mut found = vec![HealthCheck::good("configuration", file)];
    found.extend(documents::all(&checked));
    found.extend(state::all(&checked));
    found.extend(logins::all(&checked));
    found
}

fn shown(found: &[HealthCheck]) -> String {
    let width = found.iter().map(|one| one.subject.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for one in found {
        let pad = " ".repeat(width.saturating_sub(one.subject.chars().count()));
        let word = match one.health {
            Health::Good => output::good("ok     "),
            Health::Notable => output::bold("note   "),
            Health::Bad => output::bad("problem"),
        };
        out.push_str(&format!("{word}  {}{pad}  {}\n", one.subject, one.finding));
        if let Some(next) = &one.next {
            let indent = " ".repeat(width + 11);
            out.push_str(&format!("{indent}{}\n", output::dim(&format!("→ {next}"))));
        }
    }
    let bad = found.iter().filter(|one| one.health == Health::Bad).count();
    out.push_str(&match bad {
        0 => format!("\n{}\n", output::good("Nothing is wrong.")),
        1 => format!("\n{}\n", output::bad("1 problem.")),
        many => format!("\n{}\n", output::bad(&format!("{many} problems."))),
    });
    out
}
