//! The connection to a server over Streamable HTTP.

mod notices;
mod streams;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use tokio::time::timeout;

use self::notices::Listeners;
pub(crate) use self::notices::StreamState;
use super::client_features::ClientFeatures;
use super::config::{Era, HttpConfig, Limits};
use super::error::McpError;
use super::fault::{Fault, HttpFault};
use super::headers;
use super::inbox::Inbox;
use super::message::{self, IncomingMessage, RpcResult};
use super::server_request::AnswerSink;
use super::strict_json;
use crate::http::client;
use crate::oauth::{Challenge, OAuthClient, OAuthError};

/// Time for messages that nobody waits for.
const ASIDE: Duration = Duration::from_secs(5);
/// Longest body of an error status that is read.
const ERROR_BODY: usize = 64 * 1024;
/// How often a request is made when its token is refused: once without or with the old one, once with
/// a fresh one, once with more scopes.
const ATTEMPTS: usize = 3;

/// One request on its way.
pub(crate) struct Exchange<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'static str,
    /// What `Mcp-Name` says: the tool, the prompt or the URI of the resource.
    pub(crate) name: Option<&'a str>,
    /// The headers that repeat arguments.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Who answers what the server asks on the stream of the answer.
    pub(crate) client: Option<Arc<dyn ClientFeatures>>,
}

/// What the requests of this connection have in common, settled by the handshake.
#[derive(Debug, Default, Clone)]
struct Dialect {
    version: Option<HeaderValue>,
    modern: bool,
    session: Option<HeaderValue>,
}

/// The way to one endpoint.
pub(crate) struct HttpLink {
    inbox: Arc<Inbox>,
    client: Client,
    url: Url,
    extra: HeaderMap,
    oauth: Option<Arc<OAuthClient>>,
    dialect: Mutex<Dialect>,
    listeners: Mutex<Listeners>,
    message_bytes: usize,
    garbage_limit: usize,
}

impl HttpLink {
    /// Prepares the client; nothing is sent yet.
    pub(crate) fn new(
        config: &HttpConfig,
        limits: &Limits,
        inbox: Arc<Inbox>,
    ) -> Result<Self, McpError> {
        let bad =
            |reason: String| McpError::Config { upstream: inbox.upstream().to_owned(), reason };
        let url = Url::parse(&config.url).map_err(|_| bad("`url` is not a url".to_owned()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(bad("`url` must be http or https and name a host".to_owned()));
        }
        let extra = headers::configured(config).map_err(|error| bad(error.to_string()))?;
        let client = client::client(&url, None, None).map_err(|error| bad(error.to_string()))?;
        Ok(Self {
            client,
            url,
            extra,
            oauth: config.oauth.clone(),
            dialect: Mutex::default(),
            listeners: Mutex::default(),
            message_bytes: limits.message_bytes,
            garbage_limit: limits.garbage_lines,
            inbox,
        })
    }

    /// Settles era and version for all later requests.
    pub(crate) fn settle(&self, era: Era, version: &str) {
        let mut dialect = self.lock();
        dialect.version = HeaderValue::from_str(version).ok();
        dialect.modern = era == Era::Modern;
        if dialect.modern {
            dialect.session = None;
        }
    }

    /// Sends a request and reads its answer from the body or the stream of the response.
    pub(crate) async fn exchange(
        &self,
        exchange: &Exchange<'_>,
        body: Vec<u8>,
    ) -> Result<RpcResult, McpError> {
        let response = self.post(exchange.method, exchange.name, &exchange.headers, body).await?;
        let status = response.status();
        if !status.is_success() {
            return self.refused(response).await;
        }
        if exchange.method == "initialize" {
            self.keep_session(&response)?;
        }
        match media(&response) {
            Media::Json => {
                let body = self.body(response, self.message_bytes).await?;
                match self.sift(&body, exchange) {
                    StreamMessage::Answer(answer) => answer,
                    StreamMessage::Aside(_) | StreamMessage::Noise => {
                        Err(self.inbox.malformed(Fault::NeitherResultNorError))
                    }
                }
            }
            Media::Events => self.stream(response, exchange).await,
            Media::Other => Err(self.fault(HttpFault::ContentType)),
        }
    }

    /// Sends a message that has no answer.
    pub(crate) async fn notify(&self, method: &'static str, body: Vec<u8>) -> Result<(), McpError> {
        let sent = timeout(ASIDE, self.post(method, None, &[], body)).await;
        let response = sent.map_err(|_| self.fault(HttpFault::Connection))??;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(self.fault(HttpFault::Status(status.as_u16()))),
        }
    }

    /// Where answers to requests of the server go.
    pub(crate) fn answer_sink(self: &Arc<Self>) -> AnswerSink {
        let link = Arc::downgrade(self);
        Arc::new(move |answer| {
            let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
            let link = link.clone();
            runtime.spawn(async move {
                if let Some(link) = link.upgrade() {
                    let _ = link.notify("", answer).await;
                }
            });
        })
    }

    /// Ends the session at the server.
    pub(crate) async fn close(&self) {
        self.stop_listening();
        if self.lock().session.is_some() {
            let sent = self.send(|| self.common(self.client.delete(self.url.clone())));
            let _ = timeout(Duration::from_secs(2), sent).await;
        }
    }

    async fn post(
        &self,
        method: &'static str,
        name: Option<&str>,
        headers: &[(HeaderName, HeaderValue)],
        body: Vec<u8>,
    ) -> Result<Response, McpError> {
        self.send(|| {
            let mut request = self
                .common(self.client.post(self.url.clone()))
                .header(ACCEPT, "application/json, text/event-stream")
                .header(CONTENT_TYPE, "application/json");
            if self.lock().modern && !method.is_empty() {
                request = request.header("Mcp-Method", method);
                if let Some(name) = name.and_then(headers::text_value) {
                    request = request.header("Mcp-Name", name);
                }
                for (header, value) in headers {
                    request = request.header(header, value);
                }
            }
            request.body(body.clone())
        })
        .await
    }

    /// Sends a request with the token of the login, where there is one. What was refused for its
    /// token was not executed: it is sent again with a better one.
    async fn send(&self, request: impl Fn() -> RequestBuilder) -> Result<Response, McpError> {
        let connection = |_| self.fault(HttpFault::Connection);
        let Some(oauth) = &self.oauth else {
            let response = request().send().await.map_err(connection)?;
            return match challenge(&response) {
                // Somebody has to log in, which no configured header replaces.
                Some(_) if !self.extra.contains_key(AUTHORIZATION) => {
                    Err(self.no_login(OAuthError::LoginRequired))
                }
                _ => Ok(response),
            };
        };
        let (mut attempts, mut nonces) = (1, 0);
        loop {
            let mut sent = request().build().map_err(connection)?;
            let token = oauth.authorize_request(&mut sent).await;
            let token = token.map_err(|error| self.no_login(error))?;
            let response = self.client.execute(sent).await.map_err(connection)?;
            let nonce_given = oauth.note_nonce(response.headers());
            let Some(challenge) = challenge(&response) else { return Ok(response) };
            if challenge.wants_nonce() && nonce_given && nonces < ATTEMPTS {
                nonces = nonces.saturating_add(1);
                continue;
            }
            if attempts >= ATTEMPTS {
                return Err(self.no_login(match challenge.wants_scopes() {
                    true => OAuthError::InsufficientScope,
                    false => OAuthError::LoginRequired,
                }));
            }
            attempts = attempts.saturating_add(1);
            let used = token.as_ref().map(|token| token.as_str());
            let answered = oauth.answer(used, &challenge).await;
            answered.map_err(|error| self.no_login(error))?;
        }
    }

    fn no_login(&self, error: OAuthError) -> McpError {
        let principal = self.oauth.as_ref().and_then(|oauth| oauth.principal().cloned());
        McpError::Login { upstream: self.inbox.upstream().to_owned(), principal, error }
    }

    fn common(&self, request: RequestBuilder) -> RequestBuilder {
        let dialect = self.lock().clone();
        let mut request = request.headers(self.extra.clone());
        if let Some(version) = dialect.version {
            request = request.header("MCP-Protocol-Version", version);
        }
        if let Some(session) = dialect.session {
            request = request.header("Mcp-Session-Id", session);
        }
        request
    }

    fn keep_session(&self, response: &Response) -> Result<(), McpError> {
        if let Some(value) = response.headers().get("mcp-session-id") {
            let session = headers::session_id(value);
            let session = session.ok_or_else(|| self.fault(HttpFault::SessionId))?;
            self.lock().session = Some(session);
        }
        Ok(())
    }

    /// Reads an error status. A JSON-RPC error in its body is the answer.
    async fn refused(&self, response: Response) -> Result<RpcResult, McpError> {
        let status = response.status();
        if status.is_redirection() {
            return Err(self.fault(HttpFault::Redirect(status.as_u16())));
        }
        if status == StatusCode::NOT_FOUND && self.lock().session.is_some() {
            return Err(self.fault(HttpFault::SessionGone));
        }
        if matches!(media(&response), Media::Json)
            && let Ok(body) = self.body(response, ERROR_BODY).await
            && let Ok(read) = strict_json::read(&body)
            && let Some(error) = read.value.get("error").cloned().and_then(message::rpc_error)
        {
            return Ok(Err(error));
        }
        Err(self.fault(HttpFault::Status(status.as_u16())))
    }

    async fn body(&self, mut response: Response, limit: usize) -> Result<Vec<u8>, McpError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk(&mut response).await? {
            if body.len().saturating_add(chunk.len()) > limit {
                return Err(self.inbox.malformed(Fault::LineTooLong));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn chunk(
        &self,
        response: &mut Response,
    ) -> Result<Option<impl AsRef<[u8]> + std::ops::Deref<Target = [u8]> + use<>>, McpError> {
        response.chunk().await.map_err(|_| self.fault(HttpFault::Connection))
    }

    /// Decides what a message on the response to `exchange` is. Only that request's reply counts.
    fn sift(&self, bytes: &[u8], exchange: &Exchange<'_>) -> StreamMessage {
        match message::classify(bytes) {
            IncomingMessage::Reply { id, answer } if id == Some(exchange.id) => {
                StreamMessage::Answer(Ok(answer))
            }
            IncomingMessage::Faulty { fault, ids }
                if ids.is_empty() || ids.contains(&exchange.id) =>
            {
                StreamMessage::Answer(Err(self.inbox.malformed(fault)))
            }
            IncomingMessage::Noise => {
                self.inbox.count_noise();
                StreamMessage::Noise
            }
            IncomingMessage::Request { id, method, params } => {
                let client = exchange.client.as_deref();
                StreamMessage::Aside(self.inbox.asked_in(client, &id, method, params))
            }
            other => StreamMessage::Aside(self.inbox.aside(other)),
        }
    }

    fn fault(&self, fault: HttpFault) -> McpError {
        McpError::Http { upstream: self.inbox.upstream().to_owned(), fault }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Dialect> {
        self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The challenge of an answer that refuses the token, or wants one.
fn challenge(response: &Response) -> Option<Challenge> {
    let values = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let read = || Challenge::read(values.filter_map(|value| value.to_str().ok()));
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(read().unwrap_or_default()),
        StatusCode::FORBIDDEN => read().filter(Challenge::wants_scopes),
        _ => None,
    }
}

enum StreamMessage {
    Answer(Result<RpcResult, McpError>),
    Aside(Option<Vec<u8>>),
    Noise,
}

enum Media {
    Json,
    Events,
    Other,
}

fn media(response: &Response) -> Media {
    let value = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let essence = value.and_then(|v| v.split(';').next()).unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "application/json" => Media::Json,
        "text/event-stream" => Media::Events,
        _ => Media::Other,
    }
}
