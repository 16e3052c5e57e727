//! From the configuration of an upstream to that of the driver.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::{Confined, Endpoint, HttpConfig, StdioConfig, UpstreamConfig};
use weaver_drivers::oauth::{OAuthClient, OAuthSettings};

use crate::config::{
    self, Config, SecretSource, ServerLogin, Sharing, Transport, WORKSPACE_FOLDER,
};
use crate::oauth::Logins;

/// The OAuth client of a server, with the login of the gateway's own principal.
fn oauth_client(
    server: &config::Upstream,
    whole: &Config,
    url: &str,
    login: &ServerLogin,
) -> OAuthClient {
    let store = Logins::of_store(&whole.store).login(&server.name, &whole.principal);
    OAuthClient::new(url, oauth_settings(login), Arc::new(store))
}

/// What the configuration says of logins at a server.
#[must_use]
pub fn oauth_settings(login: &ServerLogin) -> OAuthSettings {
    OAuthSettings {
        client_name: "Weaver".to_owned(),
        client_id: login.client_id.clone(),
        client_secret: login.client_secret.as_ref().map(SecretSource::provider),
        client_metadata_url: login.client_metadata_url.clone(),
        scopes: login.scopes.clone(),
        authority: None,
    }
}

/// How the driver connects to an upstream: a process of ours is started, confined, by `launcher`. A
/// server that is started for each folder gets that of the configuration here.
pub fn upstream_config(
    config: &config::Upstream,
    whole: &Config,
    launcher: &Launcher,
) -> UpstreamConfig {
    let folder = whole.file.parent().unwrap_or(Path::new("."));
    upstream_config_in(folder, config, whole, launcher)
}

/// The same for the clients that work in a folder.
pub(crate) fn upstream_config_in(
    folder: &Path,
    config: &config::Upstream,
    whole: &Config,
    launcher: &Launcher,
) -> UpstreamConfig {
    let config = match config.sharing {
        Sharing::Folder => &in_folder(config, folder),
        Sharing::Client | Sharing::All => config,
    };
    let endpoint = match &config.transport {
        Transport::Stdio { command, args, env, cwd, confine } => Endpoint::Stdio(StdioConfig {
            command: command.clone(),
            args: args.clone(),
            env: env.clone(),
            cwd: cwd.clone(),
            confined: Some(Confined {
                launcher: launcher.clone(),
                confinement: whole.server_confinement(confine.as_ref()),
                setting: Some(format!(
                    "`write = […]` (or `read`, `execute`) under `[mcpServers.{}.confine]`",
                    config.name
                )),
            }),
        }),
        Transport::Http { url, headers, login } => {
            let own = headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
            // A header of the operator's own stands in place of a login.
            let oauth = (!own).then(|| Arc::new(oauth_client(config, whole, url, login)));
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
