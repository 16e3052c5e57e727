//! The Streamable HTTP transport.

mod notification_stream;
mod response_stream;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use tokio::time::timeout;

pub(crate) use self::notification_stream::StreamState;
use self::notification_stream::StreamTasks;
use super::client_features::ClientFeatures;
use super::config::{Era, HttpConfig, Limits};
use super::error::{McpError, McpErrorKind};
use super::fault::{HttpFault, MessageFault};
use super::headers;
use super::inbox::Inbox;
use super::message::{self, IncomingMessage, RpcResult};
use super::server_request::AnswerSink;
use super::strict_json;
use crate::http::{BodyError, TlsFault, client, read_body};
use crate::oauth::{Challenge, OAuthClient, OAuthError};

/// Time for messages without an answer.
const UNAWAITED_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of the body of an error response is read.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// How often a request is sent when its token is refused: with the old token or none, with a new one, and with more
/// scopes.
const MAX_ATTEMPTS: usize = 3;

/// One request and what its answer may refer to.
pub(crate) struct Exchange<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'static str,
    /// The `Mcp-Name` header: the tool, the prompt, the URI of the resource or the id of the task.
    pub(crate) name: Option<&'a str>,
    /// The headers that repeat arguments.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Answers the server's requests on the response stream.
    pub(crate) client: Option<Arc<dyn ClientFeatures>>,
}

/// Why a request was not answered.
fn connection_fault(error: &reqwest::Error) -> HttpFault {
    match error.is_connect().then(|| TlsFault::find(error)).flatten() {
        Some(fault) => HttpFault::Tls(fault),
        None => HttpFault::Connection,
    }
}

/// What the handshake settled for all later requests.
#[derive(Debug, Default, Clone)]
struct NegotiatedProtocol {
    version: Option<HeaderValue>,
    modern: bool,
    session: Option<HeaderValue>,
}

/// The transport to one endpoint.
pub(crate) struct HttpTransport {
    inbox: Arc<Inbox>,
    client: Client,
    url: Url,
    configured_headers: HeaderMap,
    oauth: Option<Arc<OAuthClient>>,
    negotiated: Mutex<NegotiatedProtocol>,
    listeners: Mutex<StreamTasks>,
    message_bytes: usize,
    garbage_limit: usize,
}

impl HttpTransport {
    /// Prepares the client; nothing is sent yet.
    pub(crate) fn new(
        config: &HttpConfig,
        limits: &Limits,
        inbox: Arc<Inbox>,
    ) -> Result<Self, McpError> {
        let bad = |reason: String| inbox.error(McpErrorKind::Config { reason });
        let url = Url::parse(&config.url).map_err(|_| bad("`url` is not a URL".to_owned()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(bad("`url` must be http or https and name a host".to_owned()));
        }
        let configured_headers =
            headers::parse_configured(config).map_err(|error| bad(error.to_string()))?;
        let client = client::build_client(&url, None, config.certificate_authority.as_ref());
        let client = client.map_err(|error| bad(error.to_string()))?;
        Ok(Self {
            client,
            url,
            configured_headers,
            oauth: config.oauth.clone(),
            negotiated: Mutex::default(),
            listeners: Mutex::default(),
            message_bytes: limits.message_bytes,
            garbage_limit: limits.garbage_lines,
            inbox,
        })
    }

    /// Sets the era and version of all later requests.
    pub(crate) fn set_negotiated(&self, era: Era, version: &str) {
        let mut negotiated = self.lock();
        negotiated.version = HeaderValue::from_str(version).ok();
        negotiated.modern = era == Era::Modern;
        if negotiated.modern {
            negotiated.session = None;
        }
    }

    /// Sends a request and reads its answer from the body or the stream of the response.
    pub(crate) async fn exchange(
        &self,
        exchange: &Exchange<'_>,
        body: Vec<u8>,
    ) -> Result<RpcResult, McpError> {
        let response =
            self.post(Some(exchange.method), exchange.name, &exchange.headers, body).await?;
        let status = response.status();
        if !status.is_success() {
            return self.read_error_response(response).await;
        }
        if exchange.method == "initialize" {
            self.store_session_id(&response)?;
        }
        match response_media(&response) {
            MediaKind::Json => {
                let body = self.read_body(response, self.message_bytes).await?;
                match self.classify_for(&body, exchange) {
                    StreamMessage::Answer(answer) => answer,
                    StreamMessage::Unrelated(_) | StreamMessage::NotJsonRpc => {
                        Err(self.inbox.malformed(MessageFault::NeitherResultNorError))
                    }
                }
            }
            MediaKind::Events => self.read_answer(response, exchange).await,
            MediaKind::Other => Err(self.http_error(HttpFault::ContentType)),
        }
    }

    /// Sends a message whose answer, if it has one, nobody waits for. `name` is its `Mcp-Name`.
    pub(crate) async fn notify(
        &self,
        method: &'static str,
        name: Option<&str>,
        body: Vec<u8>,
    ) -> Result<(), McpError> {
        self.send_unawaited(Some(method), name, body).await
    }

    /// Sends the answer to a request of the server.
    async fn send_answer(&self, body: Vec<u8>) -> Result<(), McpError> {
        self.send_unawaited(None, None, body).await
    }

    async fn send_unawaited(
        &self,
        method: Option<&'static str>,
        name: Option<&str>,
        body: Vec<u8>,
    ) -> Result<(), McpError> {
        let sent = timeout(UNAWAITED_TIMEOUT, self.post(method, name, &[], body)).await;
        let response = sent.map_err(|_| self.http_error(HttpFault::Connection))??;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(self.http_error(HttpFault::Status(status.as_u16()))),
        }
    }

    /// Sends answers to the server's requests.
    pub(crate) fn answer_sink(self: &Arc<Self>) -> AnswerSink {
        let transport = Arc::downgrade(self);
        Arc::new(move |answer| {
            let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
            let transport = transport.clone();
            runtime.spawn(async move {
                if let Some(transport) = transport.upgrade() {
                    let _ = transport.send_answer(answer).await;
                }
            });
        })
    }

    /// Ends the session at the server.
    pub(crate) async fn close(&self) {
        self.stop_listening();
        if self.lock().session.is_some() {
            let sent = self
                .send_authorized(|| self.with_common_headers(self.client.delete(self.url.clone())));
            let _ = timeout(Duration::from_secs(2), sent).await;
        }
    }

    async fn post(
        &self,
        method: Option<&'static str>,
        name: Option<&str>,
        headers: &[(HeaderName, HeaderValue)],
        body: Vec<u8>,
    ) -> Result<Response, McpError> {
        self.send_authorized(|| {
            let mut request = self
                .with_common_headers(self.client.post(self.url.clone()))
                .header(ACCEPT, "application/json, text/event-stream")
                .header(CONTENT_TYPE, "application/json");
            if self.lock().modern
                && let Some(method) = method
            {
                request = request.header("Mcp-Method", method);
                if let Some(name) = name.and_then(headers::encode_header_text) {
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

    /// Sends a request with the login's token, if there is one. A request that was refused for its
    /// token was not executed, so it may be sent again with a better one.
    async fn send_authorized(
        &self,
        request: impl Fn() -> RequestBuilder,
    ) -> Result<Response, McpError> {
        let connection = |error: reqwest::Error| self.http_error(connection_fault(&error));
        let Some(oauth) = &self.oauth else {
            let response = request().send().await.map_err(connection)?;
            return match auth_challenge(&response) {
                // No configured header authorises the request, so somebody must log in.
                Some(_) if !self.configured_headers.contains_key(AUTHORIZATION) => {
                    Err(self.login_error(OAuthError::LoginRequired))
                }
                _ => Ok(response),
            };
        };
        let (mut attempts, mut nonces) = (1, 0);
        loop {
            let mut sent = request().build().map_err(connection)?;
            let token = oauth.authorize_request(&mut sent).await;
            let token = token.map_err(|error| self.login_error(error))?;
            let response = self.client.execute(sent).await.map_err(connection)?;
            let has_new_nonce = oauth.store_nonce(response.headers());
            let Some(challenge) = auth_challenge(&response) else { return Ok(response) };
            if challenge.wants_nonce() && has_new_nonce && nonces < MAX_ATTEMPTS {
                nonces = nonces.saturating_add(1);
                continue;
            }
            if attempts >= MAX_ATTEMPTS {
                return Err(self.login_error(match challenge.wants_scopes() {
                    true => OAuthError::InsufficientScope,
                    false => OAuthError::LoginRequired,
                }));
            }
            attempts = attempts.saturating_add(1);
            let used = token.as_ref().map(|token| token.as_str());
            let answered = oauth.answer_challenge(used, &challenge).await;
            answered.map_err(|error| self.login_error(error))?;
        }
    }

    fn login_error(&self, error: OAuthError) -> McpError {
        let principal = self.oauth.as_ref().and_then(|oauth| oauth.principal().cloned());
        self.inbox.error(McpErrorKind::Login { principal, error })
    }

    fn with_common_headers(&self, request: RequestBuilder) -> RequestBuilder {
        let negotiated = self.lock().clone();
        let mut request = request.headers(self.configured_headers.clone());
        if let Some(version) = negotiated.version {
            request = request.header("MCP-Protocol-Version", version);
        }
        if let Some(session) = negotiated.session {
            request = request.header("Mcp-Session-Id", session);
        }
        request
    }

    fn store_session_id(&self, response: &Response) -> Result<(), McpError> {
        if let Some(value) = response.headers().get("mcp-session-id") {
            let session = headers::parse_session_id(value);
            let session = session.ok_or_else(|| self.http_error(HttpFault::SessionId))?;
            self.lock().session = Some(session);
        }
        Ok(())
    }

    /// Reads an error response. A JSON-RPC error in its body is the answer.
    async fn read_error_response(&self, response: Response) -> Result<RpcResult, McpError> {
        let status = response.status();
        if status.is_redirection() {
            return Err(self.http_error(HttpFault::Redirect(status.as_u16())));
        }
        if status == StatusCode::NOT_FOUND && self.lock().session.is_some() {
            return Err(self.http_error(HttpFault::SessionGone));
        }
        if matches!(response_media(&response), MediaKind::Json)
            && let Ok(body) = self.read_body(response, MAX_ERROR_BODY_BYTES).await
            && let Ok(read) = strict_json::read(&body)
            && let Some(error) = read.value.get("error").cloned().and_then(message::parse_rpc_error)
        {
            return Ok(Err(error));
        }
        Err(self.http_error(HttpFault::Status(status.as_u16())))
    }

    async fn read_body(&self, mut response: Response, limit: usize) -> Result<Vec<u8>, McpError> {
        let mut body = Vec::new();
        match read_body(&mut response, limit, &mut body).await {
            Ok(()) => Ok(body),
            Err(BodyError::Broken) => Err(self.http_error(HttpFault::Connection)),
            Err(BodyError::TooLong) => Err(self.inbox.malformed(MessageFault::LineTooLong)),
        }
    }

    async fn next_chunk(
        &self,
        response: &mut Response,
    ) -> Result<Option<impl AsRef<[u8]> + std::ops::Deref<Target = [u8]> + use<>>, McpError> {
        response.chunk().await.map_err(|_| self.http_error(HttpFault::Connection))
    }

    /// Classifies a message on the response to `exchange`. Only the reply with its id, or a malformed
    /// message that may be that reply, counts as the answer.
    fn classify_for(&self, bytes: &[u8], exchange: &Exchange<'_>) -> StreamMessage {
        match message::classify(bytes) {
            IncomingMessage::Reply { id, answer } if id == Some(exchange.id) => {
                StreamMessage::Answer(Ok(answer))
            }
            IncomingMessage::Invalid { fault, ids }
                if ids.is_empty() || ids.contains(&exchange.id) =>
            {
                StreamMessage::Answer(Err(self.inbox.malformed(fault)))
            }
            IncomingMessage::NotJsonRpc => {
                self.inbox.count_not_json_rpc();
                StreamMessage::NotJsonRpc
            }
            IncomingMessage::Request { id, method, params } => {
                let client = exchange.client.as_deref();
                StreamMessage::Unrelated(
                    self.inbox.handle_server_request(client, &id, method, params),
                )
            }
            other => StreamMessage::Unrelated(self.inbox.handle_non_reply(other)),
        }
    }

    fn http_error(&self, fault: HttpFault) -> McpError {
        self.inbox.error(McpErrorKind::Http { fault })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, NegotiatedProtocol> {
        self.negotiated.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The challenge of a response that refuses the token or requires one.
fn auth_challenge(response: &Response) -> Option<Challenge> {
    let values = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let challenge = || Challenge::from_headers(values.filter_map(|value| value.to_str().ok()));
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(challenge().unwrap_or_default()),
        StatusCode::FORBIDDEN => challenge().filter(Challenge::wants_scopes),
        _ => None,
    }
}

enum StreamMessage {
    Answer(Result<RpcResult, McpError>),
    Unrelated(Option<Vec<u8>>),
    NotJsonRpc,
}

enum MediaKind {
    Json,
    Events,
    Other,
}

fn response_media(response: &Response) -> MediaKind {
    let value = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let essence = value.and_then(|v| v.split(';').next()).unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "application/json" => MediaKind::Json,
        "text/event-stream" => MediaKind::Events,
        _ => MediaKind::Other,
    }
}
