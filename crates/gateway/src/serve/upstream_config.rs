//! From the configuration of an upstream to that of the driver.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::{ChildConfinement, Endpoint, HttpConfig, StdioConfig, UpstreamConfig};
use weaver_drivers::oauth::{
    AssertionSource, GrantType, OAuthClient, OAuthSettings, TokenExchange,
};
use weaver_types::PrincipalId;

use crate::config::{
    self, Assertion, Config, SecretSource, ServerLogin, Sharing, Transport, WORKSPACE_FOLDER,
};
use crate::oauth::Logins;

/// For whom an instance of a server works.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InstanceOwner<'a> {
    /// The folder that its clients work in.
    pub(crate) folder: &'a Path,
    /// Whose login it uses; `None` for nobody's.
    pub(crate) principal: Option<&'a PrincipalId>,
}

impl<'a> InstanceOwner<'a> {
    /// The gateway itself, as its configuration has it.
    pub(crate) fn gateway(whole: &'a Config) -> Self {
        let folder = whole.file.parent().unwrap_or(Path::new("."));
        Self { folder, principal: Some(&whole.principal) }
    }
}

/// Whether whoever calls a server logs in there. A header of the operator's own stands in place of a
/// login, and so do tokens that the gateway gets for itself.
pub(crate) fn wants_login(transport: &Transport) -> bool {
    match transport {
        Transport::Stdio { .. } => false,
        Transport::Http { headers, login, .. } => {
            login.grant == GrantType::AuthorizationCode && !has_own_token(headers)
        }
    }
}

fn has_own_token(headers: &BTreeMap<String, String>) -> bool {
    headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
}

/// The OAuth client of a server, with the login of a principal.
fn oauth_client(
    server: &config::Upstream,
    whole: &Config,
    login: &ServerLogin,
    principal: &PrincipalId,
) -> Option<Arc<OAuthClient>> {
    let Transport::Http { url, .. } = &server.transport else { return None };
    let store = Logins::of_store(&whole.store).login(&server.name, principal);
    let named = Some(principal).filter(|principal| **principal != whole.principal);
    let settings = OAuthSettings { principal: named.cloned(), ..oauth_settings(login) };
    Some(Arc::new(OAuthClient::new(url, settings, Arc::new(store))))
}

/// What the configuration says of logins at a server.
#[must_use]
pub fn oauth_settings(login: &ServerLogin) -> OAuthSettings {
    OAuthSettings {
        grant: login.grant,
        client_name: "Weaver".to_owned(),
        client_id: login.client_id.clone(),
        client_secret: login.client_secret.as_ref().map(SecretSource::provider),
        client_key: login.client_key.as_ref().map(SecretSource::provider),
        client_key_id: login.client_key_id.clone(),
        assertion: login.assertion.as_ref().map(assertion_source),
        dpop_bound_access_tokens: login.dpop_bound_access_tokens,
        client_metadata_url: login.client_metadata_url.clone(),
        scopes: login.scopes.clone(),
        authority: None,
        principal: None,
    }
}

/// Where an assertion comes from. It is read at each use.
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

/// How the driver connects to an upstream: a process of ours is started, confined, by `launcher`. A
/// server that is started for each folder gets that of the configuration here, and one that wants a
/// login that of the gateway's own principal.
pub fn upstream_config(
    config: &config::Upstream,
    whole: &Config,
    launcher: &Launcher,
) -> UpstreamConfig {
    upstream_config_for(InstanceOwner::gateway(whole), config, whole, launcher)
}

/// The same for an instance that works for others.
pub(crate) fn upstream_config_for(
    owner: InstanceOwner<'_>,
    config: &config::Upstream,
    whole: &Config,
    launcher: &Launcher,
) -> UpstreamConfig {
    let config = match config.sharing {
        Sharing::Folder => &in_folder(config, owner.folder),
        Sharing::Client | Sharing::All => config,
    };
    let endpoint = match &config.transport {
        Transport::Stdio { command, args, env, cwd, confine } => Endpoint::Stdio(StdioConfig {
            command: command.clone(),
            args: args.clone(),
            env: env.clone(),
            cwd: cwd.clone(),
            confined: Some(ChildConfinement {
                launcher: launcher.clone(),
                confinement: whole.server_confinement(confine.as_ref()),
                setting: Some(format!(
                    "`write = […]` (or `read`, `execute`) under `[mcpServers.{}.confine]`",
                    config.name
                )),
            }),
        }),
        Transport::Http { url, headers, login } => {
            let principal = match login.grant {
                GrantType::AuthorizationCode => owner.principal,
                GrantType::ClientCredentials | GrantType::JwtBearer => Some(&whole.principal),
            };
            let principal = principal.filter(|_| !has_own_token(headers));
            let oauth = principal.and_then(|one| oauth_client(config, whole, login, one));
            Endpoint::Http(HttpConfig { url: url.clone(), headers: headers.clone(), oauth })
        }
    };
    let mut upstream = UpstreamConfig::new(config.name.as_str(), endpoint);
    if let Some(timeout) = config.timeout {
        upstream.limits.call_timeout = timeout;
    }
    if let Some(timeout) = config.initialize_timeout {
        upstream.limits.initialize_timeout = timeout;
    }
    let (limits, own) = (&mut upstream.limits, &config.limits);
    limits.in_flight = own.calls.unwrap_or(limits.in_flight);
    limits.waiting = own.waiting.unwrap_or(limits.waiting);
    limits.calls_per_second = own.calls_per_second;
    limits.message_bytes = own.message_bytes.unwrap_or(limits.message_bytes);
    upstream
}

fn in_folder(config: &config::Upstream, folder: &Path) -> config::Upstream {
    let mut config = config.clone();
    if let Transport::Stdio { args, env, cwd, .. } = &mut config.transport {
        let shown = folder.to_string_lossy();
        let fill = |text: &str| text.replace(WORKSPACE_FOLDER, &shown);
        args.iter_mut().chain(env.values_mut()).for_each(|text| *text = fill(text));
        let own = cwd.take().map(|cwd| PathBuf::from(fill(&cwd.to_string_lossy())));
        *cwd = Some(own.unwrap_or_else(|| folder.to_owned()));
    }
    config
}
