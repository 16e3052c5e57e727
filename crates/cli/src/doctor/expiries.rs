//! Checks until when the certificate and the tokens of clients are valid.

use weaver_gateway::expiry::{self, Expiry};
use weaver_text::escape;
use weaver_types::Timestamp;

use super::CheckContext;
use super::health_check::HealthCheck;
use crate::approve::duration::duration_text;
use crate::clients::NOTICE_PERIOD;

pub(super) fn checks(context: &CheckContext) -> Vec<HealthCheck> {
    let mut found = Vec::new();
    if let Some(certificate) = expiry::of_certificate(&context.config) {
        let next = "renew it; `cert` under `[http]` names the file, which is read again by itself";
        let good = format!("valid until {}", certificate.at.rfc3339());
        let ending = ending_text("the certificate", &certificate, context.now);
        found.push(match ending {
            None => HealthCheck::good("certificate", good),
            Some(finding) if certificate.at <= context.now => {
                HealthCheck::bad("certificate", finding, next)
            }
            Some(finding) => HealthCheck::notable("certificate", finding, next),
        });
    }
    let tokens = expiry::of_clients(&context.config.store_path);
    for token in &tokens {
        let name = escape::line(&token.name);
        let what = format!("the token of `{name}`");
        let Some(finding) = ending_text(&what, token, context.now) else { continue };
        let next = match token.at <= context.now {
            true => format!("`weaver clients rotate {name}` makes another, `remove` forgets it"),
            false => format!("`weaver clients rotate {name}` makes another beside it"),
        };
        found.push(HealthCheck::notable("tokens", finding, &next));
    }
    let is_soon = found.iter().any(|check| check.subject == "tokens");
    if let Some(first) = tokens.iter().map(|token| token.at).min().filter(|_| !is_soon) {
        let finding = format!("the first ends at {}", first.rfc3339());
        found.push(HealthCheck::good("tokens", finding));
    }
    found
}

/// What to say of something that has ended or ends soon.
fn ending_text(what: &str, expiry: &Expiry, now: Timestamp) -> Option<String> {
    let (at, left) = (expiry.at.rfc3339(), expiry.at.since(now));
    if expiry.at <= now {
        return Some(format!("{what} has ended at {at}"));
    }
    (left <= NOTICE_PERIOD).then(|| format!("{what} ends in {}, at {at}", duration_text(left)))
}
