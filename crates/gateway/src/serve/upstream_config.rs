//! Converts the configuration of an upstream to that of the driver.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::{ChildConfinement, Endpoint, HttpConfig, StdioConfig, UpstreamConfig};
use weaver_drivers::oauth::{
    AssertionSource, GrantType, OAuthClient, OAuthSettings, TokenExchange,
};
use weaver_types::{PrincipalId, TIMEOUT_MS};

use crate::config::{
    self, Assertion, Config, InstanceSharing, SecretSource, ServerLogin, TransportSettings,
    WORKSPACE_FOLDER,
};
use crate::oauth::LoginFolder;

/// The folder and principal that an instance of a server works for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InstanceOwner<'a> {
    /// The folder of its clients.
    pub(crate) folder: &'a Path,
    /// The principal whose login it uses; `None` for no login.
    pub(crate) principal: Option<&'a PrincipalId>,
}

impl<'a> InstanceOwner<'a> {
    /// The gateway itself, as its configuration has it.
    pub(crate) fn gateway(gateway_config: &'a Config) -> Self {
        let base = gateway_config.file.parent().unwrap_or(Path::new("."));
        let folder = gateway_config.work_folder.as_deref().unwrap_or(base);
        Self { folder, principal: Some(&gateway_config.principal) }
    }
}

/// Whether callers log in at a server themselves. An operator's own `Authorization` header replaces
/// a login, and so do tokens that the gateway gets for itself.
pub(crate) fn wants_login(transport: &TransportSettings) -> bool {
    match transport {
        TransportSettings::Stdio { .. } => false,
        TransportSettings::Http { headers, login, .. } => {
            login.grant == GrantType::AuthorizationCode && !has_authorization_header(headers)
        }
    }
}

fn has_authorization_header(headers: &BTreeMap<String, String>) -> bool {
    headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
}

/// The OAuth client of a server, with the login of a principal.
fn oauth_client(
    server: &config::UpstreamSettings,
    gateway_config: &Config,
    login: &ServerLogin,
    principal: &PrincipalId,
) -> Option<Arc<OAuthClient>> {
    let TransportSettings::Http { url, certificate_authority, .. } = &server.transport else {
        return None;
    };
    let store = LoginFolder::for_store(&gateway_config.store_path).login(&server.name, principal);
    let acting_principal =
        Some(principal).filter(|principal| **principal != gateway_config.principal);
    let settings = OAuthSettings {
        principal: acting_principal.cloned(),
        certificate_authority: certificate_authority.clone(),
        ..oauth_settings(login)
    };
    Some(Arc::new(OAuthClient::new(url, settings, Arc::new(store))))
}

/// The OAuth settings for a server's login.
#[must_use]
pub fn oauth_settings(login: &ServerLogin) -> OAuthSettings {
    OAuthSettings {
        grant: login.grant,
        client_name: "Weaver".to_owned(),
        issuer: login.issuer.clone(),
        client_id: login.client_id.clone(),
        client_secret: login.client_secret.as_ref().map(SecretSource::provider),
        client_key: login.client_key.as_ref().map(SecretSource::provider),
        client_key_id: login.client_key_id.clone(),
        assertion: login.assertion.as_ref().map(assertion_source),
        dpop_bound_access_tokens: login.dpop_bound_access_tokens,
        client_metadata_url: login.client_metadata_url.clone(),
        scopes: login.scopes.clone(),
        certificate_authority: None,
        principal: None,
    }
}

/// The source of an assertion, which is read at each use.
fn assertion_source(assertion: &Assertion) -> AssertionSource {
    match assertion {
        Assertion::Workload(source) => AssertionSource::Token(source.projected_provider()),
        Assertion::Exchange(exchange) => AssertionSource::Exchange(TokenExchange {
            issuer: exchange.issuer.clone(),
            client_id: exchange.client_id.clone(),
            client_secret: exchange.client_secret.as_ref().map(SecretSource::provider),
            subject_token: exchange.subject_token.provider(),
        }),
    }
}

/// The driver's configuration of the primary instance of an upstream. A local process is started,
/// confined, by `launcher`. A server with one instance per folder gets the configuration's folder
/// here, and a server with logins that of the gateway's own principal.
pub fn upstream_config(
    config: &config::UpstreamSettings,
    gateway_config: &Config,
    launcher: &Launcher,
) -> UpstreamConfig {
    upstream_config_for(InstanceOwner::gateway(gateway_config), config, gateway_config, launcher)
}

/// The driver's configuration of an instance for a given owner.
pub(crate) fn upstream_config_for(
    owner: InstanceOwner<'_>,
    config: &config::UpstreamSettings,
    gateway_config: &Config,
    launcher: &Launcher,
) -> UpstreamConfig {
    let config = match config.sharing {
        InstanceSharing::Folder => {
            &with_workspace_folder(config, gateway_config.permitted_folder(owner.folder))
        }
        InstanceSharing::Client | InstanceSharing::All => config,
    };
    let endpoint = match &config.transport {
        TransportSettings::Stdio { command, args, env, cwd, confine } => {
            Endpoint::Stdio(StdioConfig {
                command: command.clone(),
                args: args.clone(),
                env: environment(
                    env,
                    command,
                    args,
                    cwd.is_none() && !gateway_config.own_work_folders,
                ),
                cwd: cwd.clone().or_else(|| gateway_config.made_start_folder(config.name.as_str())),
                confinement: Some(ChildConfinement {
                    launcher: launcher.clone(),
                    confinement: gateway_config
                        .server_confinement(confine.as_ref(), config.name.as_str()),
                    setting: Some(format!(
                        "`write = […]` (or `read`, `execute`) under `[mcpServers.{}.confine]`",
                        config.name
                    )),
                }),
            })
        }
        TransportSettings::Http { url, headers, login, certificate_authority } => {
            let principal = match login.grant {
                GrantType::AuthorizationCode => owner.principal,
                GrantType::ClientCredentials | GrantType::JwtBearer => {
                    Some(&gateway_config.principal)
                }
            };
            let principal = principal.filter(|_| !has_authorization_header(headers));
            let oauth = principal.and_then(|one| oauth_client(config, gateway_config, login, one));
            Endpoint::Http(HttpConfig {
                url: url.clone(),
                headers: headers.clone(),
                oauth,
                certificate_authority: certificate_authority.clone(),
            })
        }
    };
    let mut upstream = UpstreamConfig::new(config.name.as_str(), endpoint);
    upstream.secrets = config.secrets.clone();
    // Without a time of its own, each tool's contract says how long a call may take.
    let longest = Duration::from_millis((*TIMEOUT_MS.end()).into());
    upstream.limits.call_timeout = config.timeout.unwrap_or(longest);
    if let Some(timeout) = config.initialize_timeout {
        upstream.limits.initialize_timeout = timeout;
    }
    let (limits, configured) = (&mut upstream.limits, &config.limits);
    limits.in_flight = configured.calls.unwrap_or(limits.in_flight);
    limits.queued_calls = configured.queued_calls.unwrap_or(limits.queued_calls);
    limits.calls_per_second = configured.calls_per_second;
    limits.message_bytes = configured.message_bytes.unwrap_or(limits.message_bytes);
    upstream
}

/// The settings of a server that is started for a folder.
pub(crate) fn with_workspace_folder(
    config: &config::UpstreamSettings,
    folder: &Path,
) -> config::UpstreamSettings {
    let mut config = config.clone();
    if let TransportSettings::Stdio { args, env, cwd, .. } = &mut config.transport {
        let folder_text = folder.to_string_lossy();
        let fill = |text: &str| text.replace(WORKSPACE_FOLDER, &folder_text);
        args.iter_mut().chain(env.values_mut()).for_each(|text| *text = fill(text));
        let configured = cwd.take().map(|cwd| PathBuf::from(fill(&cwd.to_string_lossy())));
        *cwd = Some(configured.unwrap_or_else(|| folder.to_owned()));
    }
    config
}

/// The variables of a server. Where servers start in one folder, `python -m` of one that names no other must
/// find no module there, which another server may have written. A script finds those beside itself.
fn environment(
    env: &BTreeMap<String, String>,
    command: &str,
    args: &[String],
    starts_in_shared_folder: bool,
) -> BTreeMap<String, String> {
    let mut env = env.clone();
    let program = command.rsplit(['/', '\\']).next().unwrap_or_default();
    let runs_module = args.first().is_some_and(|first| first == "-m" || first == "-c");
    if starts_in_shared_folder && runs_module && program.starts_with("python") {
        env.entry("PYTHONSAFEPATH".to_owned()).or_insert_with(|| "1".to_owned());
    }
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_modules_are_kept_from_a_shared_folder() {
        let is_set = |command: &str, args: &[&str], is_shared: bool| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            environment(&BTreeMap::new(), command, &args, is_shared).contains_key("PYTHONSAFEPATH")
        };
        assert!(is_set("/usr/bin/python3", &["-m", "server"], true));
        assert!(!is_set("/usr/bin/python3", &["-m", "server"], false));
        // It imports what is beside it.
        assert!(!is_set("python3", &["/srv/server.py"], true));
        assert!(!is_set("bash", &["-c", "exec python3 server.py"], true));
    }
}
