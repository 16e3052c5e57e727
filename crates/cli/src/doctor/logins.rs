//! Who is logged in at which server, and until when.

use std::time::Duration;

use weaver_drivers::oauth::{Login, OAuthError};
use weaver_gateway::oauth::{LoginEntry, Logins};
use weaver_text::escape;
use weaver_types::{PrincipalId, Timestamp, UpstreamName};

use super::CheckContext;
use super::health_check::HealthCheck;

/// How long before the end of a login that is told, where nobody can refresh it.
const NOTICE: Duration = Duration::from_secs(86_400);

pub(super) fn all(checked: &CheckContext) -> Vec<HealthCheck> {
    let logins = Logins::of_store(&checked.config.store);
    let of_server = |server: &UpstreamName| match logins.at(server) {
        Ok(entries) => {
            entries.into_iter().filter_map(|entry| look(server, entry, checked)).collect()
        }
        Err(error) => {
            let next = "the folder of the logins lies beside the ledger";
            vec![HealthCheck::bad(&subject(server), escape::line(&error.to_string()), next)]
        }
    };
    checked.config.upstreams.iter().flat_map(|server| of_server(&server.name)).collect()
}

fn subject(server: &UpstreamName) -> String {
    format!("login {server}")
}

fn look(server: &UpstreamName, entry: LoginEntry, checked: &CheckContext) -> Option<HealthCheck> {
    let LoginEntry { principal, login } = entry;
    let own = principal == checked.config.principal;
    let command = match own {
        true => format!("weaver login {server}"),
        false => format!("weaver login {server} --as {principal}"),
    };
    Some(match login {
        Ok(Some(login)) => of_login(server, &principal, &login, checked.now, &command),
        Ok(None) => return None,
        Err(error) => unreadable(server, &principal, &error, &command),
    })
}

fn unreadable(
    server: &UpstreamName,
    principal: &PrincipalId,
    error: &OAuthError,
    command: &str,
) -> HealthCheck {
    let found = format!("{principal}: {error}");
    HealthCheck::bad(&subject(server), escape::line(&found), &format!("`{command}` makes another"))
}

fn of_login(
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
        Some(end) if end <= now.after(NOTICE) => {
            let found = format!("{by}; it ends at {}", end.rfc3339());
            HealthCheck::notable(&subject, found, &again)
        }
        Some(end) => HealthCheck::good(&subject, format!("{by}; it ends at {}", end.rfc3339())),
    }
}
