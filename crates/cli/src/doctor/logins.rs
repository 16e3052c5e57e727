//! Checks who is logged in at which server, and until when.

use std::time::Duration;

use weaver_drivers::oauth::{Login, OAuthError};
use weaver_gateway::oauth::{LoginEntry, LoginFolder};
use weaver_text::escape;
use weaver_types::{PrincipalId, Timestamp, UpstreamName};

use super::CheckContext;
use super::health_check::HealthCheck;

/// How long before it ends a login is reported, if it cannot be refreshed.
const NOTICE_PERIOD: Duration = Duration::from_secs(86_400);

pub(super) fn checks(context: &CheckContext) -> Vec<HealthCheck> {
    let logins = LoginFolder::for_store(&context.config.store_path);
    let of_server = |server: &UpstreamName| match logins.logins_at(server) {
        Ok(entries) => {
            entries.into_iter().filter_map(|entry| entry_check(server, entry, context)).collect()
        }
        Err(error) => {
            let next = "the folder of the logins lies beside the ledger";
            vec![HealthCheck::bad(&subject(server), escape::line(&error.to_string()), next)]
        }
    };
    context.config.upstreams.iter().flat_map(|server| of_server(&server.name)).collect()
}

fn subject(server: &UpstreamName) -> String {
    format!("login {server}")
}

fn entry_check(
    server: &UpstreamName,
    entry: LoginEntry,
    context: &CheckContext,
) -> Option<HealthCheck> {
    let LoginEntry { principal, login } = entry;
    let own = principal == context.config.principal;
    let command = match own {
        true => format!("weaver login {server}"),
        false => format!("weaver login {server} --as {principal}"),
    };
    Some(match login {
        Ok(Some(login)) => login_check(server, &principal, &login, context.now, &command),
        Ok(None) => return None,
        Err(error) => unreadable_check(server, &principal, &error, &command),
    })
}

fn unreadable_check(
    server: &UpstreamName,
    principal: &PrincipalId,
    error: &OAuthError,
    command: &str,
) -> HealthCheck {
    let found = format!("{principal}: {error}");
    HealthCheck::bad(&subject(server), escape::line(&found), &format!("`{command}` makes another"))
}

fn login_check(
    server: &UpstreamName,
    principal: &PrincipalId,
    login: &Login,
    now: Timestamp,
    command: &str,
) -> HealthCheck {
    let subject = subject(server);
    let issuer = escape::line(&login.issuer);
    let by = format!("{principal}, by {issuer}");
    let again = format!("`{command}` logs in again");
    match login.expires {
        _ if login.is_refreshable() => {
            HealthCheck::good(&subject, format!("{by}; kept fresh by the gateway"))
        }
        None => HealthCheck::good(&subject, format!("{by}; its end is not known")),
        Some(end) if end <= now => {
            HealthCheck::bad(&subject, format!("{by}; it has ended at {}", end.rfc3339()), &again)
        }
        Some(end) if end <= now.after(NOTICE_PERIOD) => {
            let found = format!("{by}; it ends at {}", end.rfc3339());
            HealthCheck::notable(&subject, found, &again)
        }
        Some(end) => HealthCheck::good(&subject, format!("{by}; it ends at {}", end.rfc3339())),
    }
}
