//! The OAuth client of one server: uses the login that there is, refreshes it, and has a person log
//! in where one is there.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use reqwest::Url;
use tokio::sync::OnceCell;
use weaver_types::{Clock, PrincipalId};
use zeroize::Zeroizing;

use super::agent::AuthorizationAgent;
use super::authorization::AuthorizationRequest;
use super::challenge::Challenge;
use super::device;
use super::discovered_server::DiscoveredServer;
use super::dpop::{DpopKey, ProofContext, TokenBinding};
use super::error::OAuthError;
use super::grant::{Grant, TokenEndpoint};
use super::login::Login;
use super::metadata::{AuthorizationServer, ProtectedResource};
use super::registration::ClientIdentity;
use super::settings::{GrantType, OAuthSettings};
use super::store::{LoginGuard, LoginStore};
use super::web::{OAuthHttpClient, reach_of};

/// The scope by which OpenID Connect gives refresh tokens.
const OFFLINE: &str = "offline_access";

/// The OAuth client of one server.
pub struct OAuthClient {
    server: String,
    pub(super) settings: OAuthSettings,
    pub(super) store: Arc<dyn LoginStore>,
    agent: Option<Arc<dyn AuthorizationAgent>>,
    web: OnceCell<OAuthHttpClient>,
    pub(super) proofs: ProofContext,
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl OAuthClient {
    /// The client of the server at this address, whose login is kept in `store`.
    #[must_use]
    pub fn new(
        server: impl Into<String>,
        settings: OAuthSettings,
        store: Arc<dyn LoginStore>,
    ) -> Self {
        Self {
            server: server.into(),
            settings,
            store,
            agent: None,
            web: OnceCell::new(),
            proofs: ProofContext::default(),
        }
    }

    /// Whose login it uses; `None` for that of everybody.
    pub(crate) fn principal(&self) -> Option<&PrincipalId> {
        self.settings.principal.as_ref()
    }

    /// The same with somebody who can lead a person to a login.
    #[must_use]
    pub fn with_agent(mut self, agent: Arc<dyn AuthorizationAgent>) -> Self {
        self.agent = Some(agent);
        self
    }

    /// The same with another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.proofs.clock = clock;
        self
    }

    /// The token for the next request; `None` where nobody is logged in. One that is about to end is
    /// refreshed first.
    ///
    /// # Errors
    /// [`OAuthError`], when logins cannot be read, or one that has ended cannot be refreshed.
    pub async fn token(&self) -> Result<Option<Zeroizing<String>>, OAuthError> {
        Ok(self.fresh_login().await?.map(|login| login.access_token))
    }

    /// The login for the next request, as [`Self::token`].
    pub(super) async fn fresh_login(&self) -> Result<Option<Login>, OAuthError> {
        let Some(login) = self.store.load()? else { return Ok(None) };
        let now = self.proofs.clock.now();
        if !login.is_stale(now) || !login.is_refreshable() {
            return Ok(Some(login));
        }
        // Rarely needed and large: it stands in no other future.
        match Box::pin(self.refresh(&login.access_token)).await {
            Ok(fresh) => Ok(Some(fresh)),
            // It still counts for a moment.
            Err(OAuthError::Unavailable { .. } | OAuthError::Refused { .. })
                if login.expires.is_some_and(|end| now < end) =>
            {
                Ok(Some(login))
            }
            Err(error) => Err(error),
        }
    }

    /// Does what a challenge asks for, so that the request can be made again. `used` is the token
    /// that was refused.
    ///
    /// # Errors
    /// [`OAuthError::LoginRequired`] and [`OAuthError::InsufficientScope`], when a person would have
    /// to log in and none is there; else why that failed.
    pub async fn answer(
        &self,
        used: Option<&str>,
        challenge: &Challenge,
    ) -> Result<(), OAuthError> {
        let login = self.store.load()?;
        if let Some(login) = login.as_ref().filter(|login| used != Some(&*login.access_token))
            && !login.is_stale(self.proofs.clock.now())
        {
            // Somebody else got another one in the meantime.
            return Ok(());
        }
        if self.settings.grant != GrantType::AuthorizationCode {
            return Box::pin(self.log_in_itself(challenge, used)).await;
        }
        if self.agent.is_none() {
            if challenge.wants_scopes() {
                return Err(OAuthError::InsufficientScope);
            }
            return match login.filter(Login::is_refreshable) {
                Some(login) => Box::pin(self.refresh(&login.access_token)).await.map(drop),
                None => Err(OAuthError::LoginRequired),
            };
        }
        Box::pin(self.authorize(challenge, LoginFlow::Redirect)).await.map(drop)
    }

    /// A login that has no tokens yet.
    pub(super) fn begun(
        &self,
        found: &DiscoveredServer,
        client: ClientIdentity,
        scopes: BTreeSet<String>,
        dpop_key: Option<DpopKey>,
    ) -> Login {
        Login {
            resource: found.resource.resource.clone(),
            issuer: found.server.issuer.clone(),
            token_endpoint: found.token_endpoint.clone(),
            client,
            access_token: Zeroizing::default(),
            refresh_token: None,
            dpop_key,
            scopes,
            obtained: self.proofs.clock.now(),
            expires: None,
        }
    }

    /// Has a person log in at the authorization server, in a browser on this machine.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn log_in(&self) -> Result<Login, OAuthError> {
        let challenge = self.web().await?.challenge(&self.server).await?;
        self.authorize(&challenge, LoginFlow::Redirect).await
    }

    /// Has a person log in with a code that is typed in on another device (RFC 8628), where the
    /// authorization server offers it.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn log_in_with_code(&self) -> Result<Login, OAuthError> {
        let challenge = self.web().await?.challenge(&self.server).await?;
        self.authorize(&challenge, LoginFlow::Device).await
    }

    pub(super) async fn web(&self) -> Result<&OAuthHttpClient, OAuthError> {
        let server = self.address()?;
        let make = || async {
            OAuthHttpClient::new(reach_of(&server).await)
                .with_authority(self.settings.authority.clone())
        };
        Ok(self.web.get_or_init(make).await)
    }

    fn address(&self) -> Result<Url, OAuthError> {
        let refused = |reason| OAuthError::Address { what: "the server", reason };
        Url::parse(&self.server).map_err(|_| refused("it is no url"))
    }

    /// Exchanges the refresh token, unless somebody else did already. The new tokens are kept before
    /// they are used.
    async fn refresh(&self, used: &str) -> Result<Login, OAuthError> {
        let web = self.web().await?;
        let mut guard = self.store.lock().await?;
        let Some(login) = self.store.load()? else { return Err(OAuthError::LoginRequired) };
        if *login.access_token != used {
            return Ok(login);
        }
        let Some(refresh_token) = login.refresh_token.clone() else {
            return Err(OAuthError::LoginRequired);
        };
        let endpoint = TokenEndpoint {
            proofs: &self.proofs,
            web,
            settings: &self.settings,
            client: &login.client,
            issuer: &login.issuer,
            url: &login.token_endpoint,
            key: login.dpop_key.as_ref(),
            resource: &login.resource,
        };
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token.as_str())];
        match endpoint.ask(&form).await {
            Ok(grant) => self.keep(guard.as_mut(), login, grant),
            // Only this error says that the refresh token counts no more (RFC 6749 §5.2). How this
            // client is known there is kept.
            Err(OAuthError::Refused { code: "invalid_grant" }) => {
                tracing::warn!("a login has ended: its refresh token is refused");
                guard.save(&Login { refresh_token: None, ..login })?;
                Err(OAuthError::LoginRequired)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn keep(
        &self,
        guard: &mut dyn LoginGuard,
        before: Login,
        grant: Grant,
    ) -> Result<Login, OAuthError> {
        let now = self.proofs.clock.now();
        let login = Login {
            access_token: grant.access_token,
            refresh_token: grant.refresh_token.or(before.refresh_token),
            scopes: grant.scopes.unwrap_or(before.scopes),
            obtained: now,
            expires: grant.life.map(|life| now.after(life)),
            ..before
        };
        guard.save(&login)?;
        Ok(login)
    }

    /// Has a person agree, and keeps what comes of it.
    async fn authorize(&self, challenge: &Challenge, way: LoginFlow) -> Result<Login, OAuthError> {
        let agent = self.agent.as_deref().ok_or(OAuthError::LoginRequired)?;
        let web = self.web().await?;
        let mut guard = self.store.lock().await?;
        let found = self.discover(web, challenge).await?;
        found.server.needs_pkce()?;
        let client = self.client(web, &found, agent).await?;
        let key = found.key()?;
        let scopes = self.scopes(challenge, &found);
        let resource = found.resource.resource.as_str();
        let request = AuthorizationRequest {
            server: &found.server,
            client: &client,
            resource,
            scopes: &scopes,
            key: key.as_ref(),
        };
        let endpoint = found.endpoint(&self.proofs, &self.settings, web, &client, key.as_ref());
        let grant = match way {
            LoginFlow::Redirect => {
                let code = request.run(agent, self.proofs.random.as_ref()).await?;
                let form = [
                    ("grant_type", "authorization_code"),
                    ("code", code.code.as_str()),
                    ("code_verifier", code.verifier.as_str()),
                    ("redirect_uri", code.redirect_uri.as_str()),
                ];
                endpoint.ask(&form).await?
            }
            LoginFlow::Device => device::run(&endpoint, &request, agent).await?,
        };
        let login = self.begun(&found, client.clone(), scopes, key);
        self.keep(guard.as_mut(), login, grant)
    }

    /// Finds whose tokens the server takes, and what is needed to ask for one.
    pub(super) async fn discover(
        &self,
        web: &OAuthHttpClient,
        challenge: &Challenge,
    ) -> Result<DiscoveredServer, OAuthError> {
        let address = self.address()?;
        let resource = match ProtectedResource::find(web, &address, challenge).await? {
            Some(resource) => resource,
            // Servers of 2025-03-26 are their own authorization servers.
            None => ProtectedResource {
                resource: canonical(&address),
                authorization_servers: vec![address.origin().ascii_serialization()],
                scopes_supported: BTreeSet::new(),
                token_binding: TokenBinding::Unbound,
            },
        };
        let issuers = &resource.authorization_servers;
        // A login of another issuer is of no use here, nor is how this client is known there.
        let before = self.store.load()?.filter(|login| issuers.contains(&login.issuer));
        let issuer = before.as_ref().map(|login| &login.issuer).or(issuers.first());
        let issuer = issuer.ok_or(OAuthError::NoRegistration)?;
        let server = AuthorizationServer::find(web, issuer).await?;
        let token_endpoint = server.token_endpoint.clone().ok_or(OAuthError::Document {
            what: "the metadata of the authorization server",
            reason: "it has no `token_endpoint`",
        })?;
        let demanded = match self.settings.dpop_bound_access_tokens {
            true => TokenBinding::Required,
            false => TokenBinding::Unbound,
        };
        let binding = demanded.max(challenge.token_binding).max(resource.token_binding);
        Ok(DiscoveredServer { resource, server, token_endpoint, binding, before })
    }

    /// How this client is known there: as before, or anew.
    async fn client(
        &self,
        web: &OAuthHttpClient,
        found: &DiscoveredServer,
        agent: &dyn AuthorizationAgent,
    ) -> Result<ClientIdentity, OAuthError> {
        let DiscoveredServer { server, before, binding, .. } = found;
        let redirect_uri = agent.redirect_uri();
        let known = before.as_ref().map(|login| &login.client).filter(|client| {
            client.redirect_uri.as_ref() == Some(&redirect_uri) && self.settings.client_id.is_none()
        });
        match known {
            Some(known) => Ok(known.clone()),
            None => {
                let settings = &self.settings;
                ClientIdentity::establish(web, server, settings, &redirect_uri, *binding).await
            }
        }
    }

    /// The scopes to ask for: those of the challenge, else all that the resource knows; with what
    /// the login had before where more are wanted, so that nothing is lost by a step up.
    pub(super) fn scopes(
        &self,
        challenge: &Challenge,
        found: &DiscoveredServer,
    ) -> BTreeSet<String> {
        let DiscoveredServer { resource, server, before, .. } = found;
        let wanted = match challenge.scopes.is_empty() {
            false => &challenge.scopes,
            true => &resource.scopes_supported,
        };
        let mut scopes: BTreeSet<String> = wanted | &self.settings.scopes;
        if let Some(before) = before.as_ref().filter(|_| challenge.wants_scopes()) {
            scopes.extend(before.scopes.iter().cloned());
        }
        if !scopes.is_empty() && server.scopes_supported.contains(OFFLINE) {
            scopes.insert(OFFLINE.to_owned());
        }
        scopes
    }
}

/// How a person logs in.
#[derive(Clone, Copy)]
enum LoginFlow {
    Redirect,
    Device,
}

/// The canonical address of a server (RFC 8707 §2 as the protocol uses it).
fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    let text = url.to_string();
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
}
