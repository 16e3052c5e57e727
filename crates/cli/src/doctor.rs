//! `weaver doctor`: checks everything that a gateway depends on, and says what to do about each
//! problem.
//!
//! A failed check does not stop the others, so that one run shows every problem.

mod documents;
mod expiries;
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
    let checks = run_checks(args);
    let worst = checks.iter().map(|check| check.health).max().unwrap_or(Health::Good);
    if args.output.json {
        let ok = worst < Health::Bad;
        output::json(&json!({ "ok": ok, "checks": checks }))?;
    } else {
        output::text(&report_text(&checks))?;
    }
    Ok(if worst < Health::Bad { Exit::Ok } else { Exit::Failed })
}

fn run_checks(args: &Check) -> Vec<HealthCheck> {
    let file = args.config.path();
    let config = match config::load(&file) {
        Ok(config) => config,
        Err(errors) => {
            let mut checks = vec![documents::load_failure("configuration", &errors)];
            checks.extend(state::gateway_with_old_configuration(&file));
            return checks;
        }
    };
    let context = CheckContext { config, now: SystemClock::default().now() };
    let file = escape::line(&context.config.file.display().to_string()).into_owned();
    let mut checks = vec![HealthCheck::good("configuration", file)];
    checks.extend(documents::checks(&context));
    checks.extend(state::checks(&context));
    checks.extend(logins::checks(&context));
    checks.extend(expiries::checks(&context));
    checks
}

fn report_text(checks: &[HealthCheck]) -> String {
    let width = checks.iter().map(|check| check.subject.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for check in checks {
        let pad = " ".repeat(width.saturating_sub(check.subject.chars().count()));
        let word = match check.health {
            Health::Good => output::good("ok     "),
            Health::Notable => output::bold("note   "),
            Health::Bad => output::bad("problem"),
        };
        out.push_str(&format!("{word}  {}{pad}  {}\n", check.subject, check.finding));
        if let Some(next) = &check.next {
            let indent = " ".repeat(width + 11);
            out.push_str(&format!("{indent}{}\n", output::dim(&format!("→ {next}"))));
        }
    }
    let count = |health| checks.iter().filter(|check| check.health == health).count();
    let notable = count(Health::Notable);
    out.push_str(&match count(Health::Bad) {
        0 if notable == 0 => format!("\n{}\n", output::good("Nothing is wrong.")),
        0 => format!("\nNothing is broken; {} to look at.\n", output::counted(notable, "thing")),
        1 => format!("\n{}\n", output::bad("1 problem.")),
        many => format!("\n{}\n", output::bad(&format!("{many} problems."))),
    });
    out
}
