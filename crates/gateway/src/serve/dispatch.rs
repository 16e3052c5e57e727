//! Answers requests by method, in both eras of the protocol.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::{LEGACY_VERSION, LEGACY_VERSIONS, LogLevel, MODERN_VERSION};

use super::call::CallOptions;
use super::client::Client;
use super::era::Era;
use super::feature_request::check_missing_capability;
use super::list_page::UnknownCursor;
use super::message::{self, Request, RpcError, code, excerpt};
use super::receipt_request::ReceiptRequest;
use super::task::Task;
use super::tasks;
use super::{
    feature_methods, instructions, list_page, meta_tool_definitions, meta_tools, proxy, render,
    task_support, user_statements,
};
use crate::config::ToolListMode;
use crate::telemetry::RequestOrigin;

/// The only version of the legacy era in which a client asks for tasks.
const TASKS_VERSION: &str = LEGACY_VERSION;
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key under which a modern request asks for log messages.
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The protocol state of one session.
#[derive(Default)]
pub(crate) struct Session {
    /// Set once `initialize` was answered.
    has_answered_initialize: AtomicBool,
    /// Set once `notifications/initialized` arrived.
    is_initialized: AtomicBool,
    /// The version agreed on in `initialize`.
    version: OnceLock<&'static str>,
    /// The name the client gave in `initialize`.
    client_name: OnceLock<String>,
    /// The session's id over HTTP.
    id: OnceLock<String>,
    /// Set once it was recorded that the host's user statements are not trusted.
    untrusted_host_recorded: AtomicBool,
}

impl Session {
    pub(crate) fn mark_initialized(&self) {
        self.is_initialized.store(true, Ordering::Release);
    }

    /// Sets the session's id.
    pub(crate) fn set_id(&self, id: &str) {
        let _ = self.id.set(id.to_owned());
    }

    /// The request as traces identify it.
    pub(crate) fn request_origin(&self, request: &Request) -> RequestOrigin {
        let id = request.id.as_str().map_or_else(|| request.id.to_string(), excerpt);
        let protocol_version = match era_of(&request.params) {
            Ok(Era::Modern) => Some(MODERN_VERSION),
            _ => self.version.get().copied(),
        };
        RequestOrigin { id, protocol_version, session: self.id.get().cloned() }
    }

    /// True for a client that wants to hear of changes of the tool list.
    pub(crate) fn wants_tool_list_changes(&self, client: &Client) -> bool {
        self.is_initialized.load(Ordering::Acquire) && client.profile.mode == ToolListMode::Proxy
    }

    /// Begins a task, if the client asks to follow a call as one. The call itself then proceeds as
    /// any other.
    pub(crate) async fn begin_task(
        &self,
        client: &Client,
        request: &mut Request,
    ) -> Option<Result<Arc<Task>, RpcError>> {
        if request.method != "tools/call" || !self.supports_tasks(&request.params) {
            return None;
        }
        let lifetime = tasks::take_lifetime(request)?;
        // A call that names no tool is refused and recorded as any other.
        let name = request.params.get("name").and_then(Value::as_str)?;
        if !task_support::supports_task(client, name).await? {
            let problem =
                format!("`{}` cannot be called as a task; leave `task` out", excerpt(name));
            return Some(Err(RpcError::new(code::METHOD_NOT_FOUND, problem)));
        }
        let begin = |lifetime| client.link.tasks.begin(client.task_context(), lifetime);
        Some(lifetime.and_then(begin))
    }

    /// True for a request of the version with tasks.
    fn supports_tasks(&self, params: &Map<String, Value>) -> bool {
        self.version.get() == Some(&TASKS_VERSION) && matches!(era_of(params), Ok(Era::Legacy))
    }

    pub(crate) async fn answer(
        &self,
        client: &Client,
        request: Request,
        options: CallOptions,
    ) -> Result<Value, RpcError> {
        // A tool call reports this itself, because it is recorded.
        if let (Some(argument_problem), true) =
            (&request.argument_problem, request.method != "tools/call")
        {
            return Err(RpcError::new(code::INVALID_REQUEST, argument_problem.clone()));
        }
        let era = era_of(&request.params)?;
        if era == Era::Modern
            && let Some(level) = log_level(&request.params)?
            && client.link.note_requested_log_level(level)
        {
            // Not awaited: a server that is slow to set a level delays nothing else.
            let gateway = Arc::clone(&client.gateway);
            tokio::spawn(async move { feature_methods::sync_log_levels(&gateway).await });
        }
        let is_open = era == Era::Modern || self.has_answered_initialize.load(Ordering::Acquire);
        match request.method.as_str() {
            "initialize" if era == Era::Legacy => {
                Ok(self.initialize(client, &request.params).await)
            }
            "server/discover" => Ok(discover(client).await),
            "ping" if era == Era::Legacy => Ok(json!({})),
            _ if !is_open => Err(RpcError::new(
                code::INVALID_REQUEST,
                "send `initialize` first, or name the protocol version in the request's `_meta`",
            )),
            "tools/list" => {
                list_tools(client, era, &request.params, self.supports_tasks(&request.params)).await
            }
            "tools/call" => {
                self.record_user_statements(client, &request.params).await;
                call_tool(client, era, request, options).await
            }
            other => {
                if other.starts_with("tasks/")
                    && let Ok(run) = client.run().await
                {
                    client.link.tasks.drop_results_of_other_runs(&run.run_id);
                }
                let about_task = match era {
                    Era::Modern => client.link.tasks.answer_modern(&request),
                    Era::Legacy if self.supports_tasks(&request.params) => {
                        client.link.tasks.answer(&request, options.client_call.stream()).await
                    }
                    Era::Legacy => None,
                };
                if let Some(answered) = about_task {
                    return answered;
                }
                let unknown = format!("method `{}` is not offered here", excerpt(other));
                let answered =
                    Box::pin(feature_methods::answer(client, era, &request, options)).await;
                answered.unwrap_or_else(|| Err(RpcError::new(code::METHOD_NOT_FOUND, unknown)))
            }
        }
    }

    /// Records what the user said, if the operator trusts the client to report it. Other clients'
    /// statements are ignored, which is recorded once.
    async fn record_user_statements(&self, client: &Client, params: &Map<String, Value>) {
        if let Some(name) = user_statements::request_client_name(params) {
            client.note_name(name);
        }
        let Some(texts) = user_statements::from_request(params) else { return };
        let host = self.client_name.get().map(String::as_str);
        let host =
            host.or_else(|| user_statements::request_client_name(params)).unwrap_or_default();
        if !client.gateway.kernel.policy().trusts_host(host) {
            if !self.untrusted_host_recorded.swap(true, Ordering::AcqRel) {
                user_statements::record_untrusted_host(&client.gateway, host).await;
            }
            return;
        }
        if let Err(error) = client.record_user_statements(&texts).await {
            tracing::error!(%error, "the user's statements could not be recorded");
        }
    }

    async fn initialize(&self, client: &Client, params: &Map<String, Value>) -> Value {
        let requested = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let version = LEGACY_VERSIONS
            .into_iter()
            .find(|version| *version == requested)
            .unwrap_or(TASKS_VERSION);
        let version = *self.version.get_or_init(|| version);
        self.has_answered_initialize.store(true, Ordering::Release);
        if let Some(name) = user_statements::session_client_name(params) {
            // The first name stays: a session belongs to one client.
            let _ = self.client_name.set(name.to_owned());
            client.note_name(name);
        }
        client.link.set_capabilities(params.get("capabilities"));
        let mut capabilities = feature_methods::server_capabilities(&client.gateway, Era::Legacy);
        let tools = json!({ "listChanged": client.profile.mode == ToolListMode::Proxy });
        capabilities.insert("tools".to_owned(), tools);
        if version == TASKS_VERSION {
            capabilities.insert("tasks".to_owned(), tasks::capability());
        }
        json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": server_info(),
            "instructions": instructions::for_client(client).await,
        })
    }
}

fn era_of(params: &Map<String, Value>) -> Result<Era, RpcError> {
    let version = params.get("_meta").and_then(|meta| meta.get(VERSION_KEY));
    match version {
        None => Ok(Era::Legacy),
        Some(Value::String(version)) if version == MODERN_VERSION => Ok(Era::Modern),
        Some(other) => {
            let requested = other.as_str().map(excerpt).unwrap_or_default();
            let mut error = RpcError::new(
                code::UNSUPPORTED_VERSION,
                format!("protocol version `{requested}` is not supported"),
            );
            error.data = Some(json!({ "requested": requested, "supported": [MODERN_VERSION] }));
            Err(error)
        }
    }
}

/// The lowest level of log messages that a request of the modern era asks for.
///
/// # Errors
/// [`RpcError`], where the level is unknown.
pub(crate) fn log_level(params: &Map<String, Value>) -> Result<Option<LogLevel>, RpcError> {
    let Some(requested) = params.get("_meta").and_then(|meta| meta.get(LOG_LEVEL_KEY)) else {
        return Ok(None);
    };
    let level = requested.as_str().unwrap_or_default().parse::<LogLevel>();
    let level = level.map_err(|problem| RpcError::new(code::INVALID_PARAMS, problem.to_string()));
    level.map(Some)
}

async fn discover(client: &Client) -> Value {
    let mut capabilities = feature_methods::server_capabilities(&client.gateway, Era::Modern);
    let tools = match client.profile.mode {
        ToolListMode::Proxy => json!({ "listChanged": true }),
        ToolListMode::Gateway => json!({}),
    };
    capabilities.insert("tools".to_owned(), tools);
    capabilities.insert("extensions".to_owned(), json!({ tasks::EXTENSION: {} }));
    json!({
        "resultType": "complete",
        "supportedVersions": [MODERN_VERSION],
        "capabilities": capabilities,
        "serverInfo": server_info(),
        "_meta": { "io.modelcontextprotocol/serverInfo": server_info() },
        "instructions": instructions::for_client(client).await,
        "ttlMs": 60_000,
        "cacheScope": "private",
    })
}

fn server_info() -> Value {
    json!({ "name": "weaver", "title": "Weaver", "version": env!("CARGO_PKG_VERSION") })
}

async fn list_tools(
    client: &Client,
    era: Era,
    params: &Map<String, Value>,
    with_tasks: bool,
) -> Result<Value, RpcError> {
    let cursor = list_page::requested_cursor(params)?;
    let (mut tools, next) = match (client.profile.mode, cursor) {
        (ToolListMode::Gateway, None) => {
            (meta_tool_definitions::all(client.profile.execute_tools), None)
        }
        (ToolListMode::Gateway, Some(_)) => return Err(UnknownCursor.into()),
        (ToolListMode::Proxy, cursor) => proxy::list(client, cursor).await?,
    };
    if with_tasks {
        task_support::add_task_support(client, &mut tools);
    }
    let mut result = Map::new();
    result.insert("tools".to_owned(), Value::Array(tools));
    result.extend(next.map(|next| ("nextCursor".to_owned(), json!(next))));
    if era == Era::Modern {
        result.insert("resultType".to_owned(), json!("complete"));
        result.insert("ttlMs".to_owned(), json!(0));
        result.insert("cacheScope".to_owned(), json!("private"));
    }
    if let Some(notice) = client.gateway.kernel.policy().observation_notice() {
        result.insert("_meta".to_owned(), json!({ "weaver/enforcement": notice }));
    }
    Ok(Value::Object(result))
}

async fn call_tool(
    client: &Client,
    era: Era,
    request: Request,
    options: CallOptions,
) -> Result<Value, RpcError> {
    let Request { mut params, argument_problem, .. } = request;
    let Some(Value::String(name)) = params.remove("name") else {
        return Err(RpcError::new(code::INVALID_PARAMS, "`name` must be a string"));
    };
    let arguments = message::tool_arguments(params.remove("arguments"));
    let options = CallOptions { argument_problem, ..options };
    let client_call = Arc::clone(&options.client_call);
    let receipt_request = ReceiptRequest::from_params(&client.gateway, &params);
    let reply = match client.profile.mode {
        ToolListMode::Gateway => meta_tools::call(client, &name, arguments, options).await,
        ToolListMode::Proxy => proxy::call(client, &name, arguments, options).await,
    };
    check_missing_capability(client, &client_call).await?;
    let mut reply = reply?;
    receipt_request.attach_to(&client.gateway, &mut reply).await;
    Ok(render::call_tool_result(reply, era))
}
