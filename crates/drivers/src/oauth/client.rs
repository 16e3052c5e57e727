//! The OAuth client of one server: uses and refreshes a stored login, or lets a person log in.

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
use super::grant::{IssuedTokens, TokenEndpoint};
use super::login::Login;
use super::metadata::{AuthorizationServer, ProtectedResource};
use super::oauth_http_client::{OAuthHttpClient, allowed_addresses_for};
use super::registration::ClientIdentity;
use super::settings::{GrantType, OAuthSettings};
use super::store::{LoginGuard, LoginStore};

/// The scope with which OpenID Connect issues refresh tokens.
const OFFLINE_ACCESS: &str = "offline_access";

/// The OAuth client of one server.
pub struct OAuthClient {
    server: String,
    pub(super) settings: OAuthSettings,
    pub(super) store: Arc<dyn LoginStore>,
    agent: Option<Arc<dyn AuthorizationAgent>>,
    http_client: OnceCell<OAuthHttpClient>,
    pub(super) proofs: ProofContext,
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl OAuthClient {
    /// The client of the server at this URL, with its login in `store`.
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
            http_client: OnceCell::new(),
            proofs: ProofContext::default(),
        }
    }

    /// Whose login it uses; `None` for the shared one.
    pub(crate) fn principal(&self) -> Option<&PrincipalId> {
        self.settings.principal.as_ref()
    }

    /// The same, with an agent that can bring a person to a login.
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

    /// The access token for the next request, refreshed if about to expire; `None` without a login.
    ///
    /// # Errors
    /// [`OAuthError`], if the login cannot be read, or has expired and cannot be refreshed.
    pub async fn token(&self) -> Result<Option<Zeroizing<String>>, OAuthError> {
        Ok(self.current_login().await?.map(|login| login.access_token))
    }

    /// The login for the next request, like [`Self::token`].
    pub(super) async fn current_login(&self) -> Result<Option<Login>, OAuthError> {
        let Some(login) = self.store.load()? else { return Ok(None) };
        let now = self.proofs.clock.now();
        if !login.is_stale(now) || !login.is_refreshable() {
            return Ok(Some(login));
        }
        // Boxed because it is large and rarely needed.
        match Box::pin(self.refresh(&login.access_token)).await {
            Ok(fresh) => Ok(Some(fresh)),
            // The token is still valid for a moment.
            Err(OAuthError::Unavailable { .. } | OAuthError::Refused { .. })
                if login.expires.is_some_and(|end| now < end) =>
            {
                Ok(Some(login))
            }
            Err(error) => Err(error),
        }
    }

    /// Satisfies a challenge before the request is sent again. `used` is the refused token.
    ///
    /// # Errors
    /// [`OAuthError::LoginRequired`] and [`OAuthError::InsufficientScope`], if a person would have
    /// to log in and there is no agent; otherwise the reason of the failure.
    pub async fn answer_challenge(
        &self,
        used: Option<&str>,
        challenge: &Challenge,
    ) -> Result<(), OAuthError> {
        let login = self.store.load()?;
        if let Some(login) = login.as_ref().filter(|login| used != Some(&*login.access_token))
            && !login.is_stale(self.proofs.clock.now())
        {
            // Another task or process has obtained a new token.
            return Ok(());
        }
        if self.settings.grant != GrantType::AuthorizationCode {
            return Box::pin(self.log_in_unattended(challenge, used)).await;
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

    /// A login without tokens.
    pub(super) fn new_login(
        &self,
        discovered: &DiscoveredServer,
        client: ClientIdentity,
        scopes: BTreeSet<String>,
        dpop_key: Option<DpopKey>,
    ) -> Login {
        Login {
            resource: discovered.resource.resource.clone(),
            issuer: discovered.server.issuer.clone(),
            token_endpoint: discovered.token_endpoint.clone(),
            client,
            access_token: Zeroizing::default(),
            refresh_token: None,
            dpop_key,
            scopes,
            obtained: self.proofs.clock.now(),
            expires: None,
        }
    }

    /// Lets a person log in at the authorization server with a browser on this machine.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn log_in(&self) -> Result<Login, OAuthError> {
        let challenge = self.http_client().await?.challenge(&self.server).await?;
        self.authorize(&challenge, LoginFlow::Redirect).await
    }

    /// Lets a person log in with a code on another device (RFC 8628), if the server supports it.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn log_in_with_code(&self) -> Result<Login, OAuthError> {
        let challenge = self.http_client().await?.challenge(&self.server).await?;
        self.authorize(&challenge, LoginFlow::Device).await
    }

    pub(super) async fn http_client(&self) -> Result<&OAuthHttpClient, OAuthError> {
        let server = self.server_url()?;
        let new_client = || async {
            OAuthHttpClient::new(allowed_addresses_for(&server).await)
                .with_certificate_authority(self.settings.certificate_authority.clone())
        };
        Ok(self.http_client.get_or_init(new_client).await)
    }

    fn server_url(&self) -> Result<Url, OAuthError> {
        let refused = |reason| OAuthError::Address { what: "the server", reason };
        Url::parse(&self.server).map_err(|_| refused("it is not a URL"))
    }

    /// Uses the refresh token, unless another task or process did so first. The new tokens are
    /// saved before they are used, because the old refresh token may be invalid from now on.
    async fn refresh(&self, used: &str) -> Result<Login, OAuthError> {
        let http_client = self.http_client().await?;
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
            http_client,
            settings: &self.settings,
            client: &login.client,
            issuer: &login.issuer,
            url: &login.token_endpoint,
            key: login.dpop_key.as_ref(),
            resource: &login.resource,
        };
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token.as_str())];
        match endpoint.request_tokens(&form).await {
            Ok(grant) => self.save_grant(guard.as_mut(), login, grant),
            // Only this error says that the refresh token is no longer valid (RFC 6749 §5.2). The
            // registration of the client is kept.
            Err(OAuthError::Refused { code: "invalid_grant" }) => {
                tracing::warn!("a login has ended: its refresh token is refused");
                guard.save(&Login { refresh_token: None, ..login })?;
                Err(OAuthError::LoginRequired)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn save_grant(
        &self,
        guard: &mut dyn LoginGuard,
        previous_login: Login,
        grant: IssuedTokens,
    ) -> Result<Login, OAuthError> {
        let now = self.proofs.clock.now();
        let login = Login {
            access_token: grant.access_token,
            refresh_token: grant.refresh_token.or(previous_login.refresh_token),
            scopes: grant.scopes.unwrap_or(previous_login.scopes),
            obtained: now,
            expires: grant.lifetime.map(|life| now.after(life)),
            ..previous_login
        };
        guard.save(&login)?;
        Ok(login)
    }

    /// Lets a person authorise this client, and saves the tokens.
    async fn authorize(&self, challenge: &Challenge, flow: LoginFlow) -> Result<Login, OAuthError> {
        let agent = self.agent.as_deref().ok_or(OAuthError::LoginRequired)?;
        let http_client = self.http_client().await?;
        let mut guard = self.store.lock().await?;
        let discovered = self.discover(http_client, challenge).await?;
        discovered.server.require_pkce()?;
        let client = self.client_identity(http_client, &discovered, agent).await?;
        let key = discovered.new_dpop_key()?;
        let scopes = self.scopes(challenge, &discovered);
        let request = AuthorizationRequest {
            server: &discovered.server,
            client: &client,
            resource: discovered.resource.resource.as_str(),
            scopes: &scopes,
            key: key.as_ref(),
            issuer_is_configured: self.settings.issuer.is_some(),
        };
        let endpoint =
            discovered.endpoint(&self.proofs, &self.settings, http_client, &client, key.as_ref());
        let grant = match flow {
            LoginFlow::Redirect => {
                let code = request.obtain_code(agent, self.proofs.random.as_ref()).await?;
                let form = [
                    ("grant_type", "authorization_code"),
                    ("code", code.code.as_str()),
                    ("code_verifier", code.verifier.as_str()),
                    ("redirect_uri", code.redirect_uri.as_str()),
                ];
                endpoint.request_tokens(&form).await?
            }
            LoginFlow::Device => device::run(&endpoint, &request, agent).await?,
        };
        let login = self.new_login(&discovered, client.clone(), scopes, key);
        self.save_grant(guard.as_mut(), login, grant)
    }

    /// Discovers which authorization server issues the tokens for this server.
    pub(super) async fn discover(
        &self,
        http_client: &OAuthHttpClient,
        challenge: &Challenge,
    ) -> Result<DiscoveredServer, OAuthError> {
        let address = self.server_url()?;
        let resource = match ProtectedResource::discover(http_client, &address, challenge).await? {
            Some(resource) => resource,
            // Servers of 2025-03-26 act as their own authorization servers.
            None => ProtectedResource {
                resource: canonical_resource(&address),
                authorization_servers: vec![address.origin().ascii_serialization()],
                scopes_supported: BTreeSet::new(),
                token_binding: TokenBinding::Unbound,
            },
        };
        let (issuer, previous_login) = self.choose_issuer(&resource.authorization_servers)?;
        let server = AuthorizationServer::discover(http_client, &issuer).await?;
        let token_endpoint = server.token_endpoint.clone().ok_or(OAuthError::Document {
            what: "the metadata of the authorization server",
            reason: "it has no `token_endpoint`",
        })?;
        let configured_binding = match self.settings.dpop_bound_access_tokens {
            true => TokenBinding::Required,
            false => TokenBinding::Unbound,
        };
        let binding = configured_binding.max(challenge.token_binding).max(resource.token_binding);
        Ok(DiscoveredServer { resource, server, token_endpoint, binding, previous_login })
    }

    /// The authorization server to use of those that the server names, and the login there.
    ///
    /// # Security
    /// A server may be taken over after it was configured. A configured credential therefore goes to
    /// the configured issuer only, or where none is configured to the issuer of the first login.
    fn choose_issuer(&self, named: &[String]) -> Result<(String, Option<Login>), OAuthError> {
        let login = self.store.load()?;
        let first = login.as_ref().map(|login| &login.issuer);
        let pinned = match &self.settings.issuer {
            Some(issuer) => Some(issuer),
            None => first.filter(|first| self.settings.has_credential() || named.contains(first)),
        };
        let issuer = match pinned {
            Some(pinned) if named.contains(pinned) => pinned,
            Some(_) => return Err(OAuthError::OtherIssuer),
            None => named.first().ok_or(OAuthError::NoRegistration)?,
        };
        // A login of another issuer cannot be used, and neither can its registration.
        let issuer = issuer.clone();
        Ok((issuer.clone(), login.filter(|login| login.issuer == issuer)))
    }

    /// The registration of this client: the existing one if it fits, otherwise a new one.
    async fn client_identity(
        &self,
        http_client: &OAuthHttpClient,
        discovered: &DiscoveredServer,
        agent: &dyn AuthorizationAgent,
    ) -> Result<ClientIdentity, OAuthError> {
        let DiscoveredServer { server, previous_login, binding, .. } = discovered;
        let redirect_uri = agent.redirect_uri();
        let registered = previous_login.as_ref().map(|login| &login.client).filter(|client| {
            client.redirect_uri.as_ref() == Some(&redirect_uri) && self.settings.client_id.is_none()
        });
        match registered {
            Some(registered) => Ok(registered.clone()),
            None => {
                let settings = &self.settings;
                ClientIdentity::establish(http_client, server, settings, &redirect_uri, *binding)
                    .await
            }
        }
    }

    /// The scopes to request: those of the challenge, or else all that the resource supports. To a
    /// challenge's scopes those of the previous login are added, so that stepping up loses none.
    pub(super) fn scopes(
        &self,
        challenge: &Challenge,
        discovered: &DiscoveredServer,
    ) -> BTreeSet<String> {
        let DiscoveredServer { resource, server, previous_login, .. } = discovered;
        let wanted = match challenge.scopes.is_empty() {
            false => &challenge.scopes,
            true => &resource.scopes_supported,
        };
        let mut scopes: BTreeSet<String> = wanted | &self.settings.scopes;
        if let Some(previous_login) = previous_login.as_ref().filter(|_| challenge.wants_scopes()) {
            scopes.extend(previous_login.scopes.iter().cloned());
        }
        if !scopes.is_empty() && server.scopes_supported.contains(OFFLINE_ACCESS) {
            scopes.insert(OFFLINE_ACCESS.to_owned());
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

/// The canonical URL of a server (RFC 8707 §2 as MCP uses it).
fn canonical_resource(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    let text = url.to_string();
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
}
