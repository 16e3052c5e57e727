//! `weaver login` and `weaver logout`: a person's OAuth login at a server behind the gateway.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use weaver_drivers::http::CertificateAuthority;
use weaver_drivers::oauth::{
    AuthorizationAgent, DevicePrompt, GrantType, Login as Tokens, OAuthClient, OAuthError,
    OAuthSettings, Url,
};
use weaver_gateway::config::{self, Config, ServerLogin, TransportSettings};
use weaver_gateway::oauth::{LoginFolder, SealedLogin};
use weaver_gateway::serve::oauth_settings;
use weaver_text::escape;
use weaver_types::{BoxFuture, Clock as _, PrincipalId, SystemClock, UpstreamName};

use super::shared_args::{ConfigArg, JsonFlag};
use super::{Exit, Failure, output};

/// How long to wait for the person.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(5 * 60);
const PORT_FAILED: &str = "the port on this machine failed";
/// How long a request to the port may take to arrive.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest request of the browser that is read, in bytes.
const MAX_REQUEST_BYTES: u64 = 16 * 1024;
/// What the person sees after the browser was redirected back.
const DONE_PAGE: &str = "You can close this page and go back to the terminal.\n";

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weaver login tracker\n  weaver login tracker --as dev1 --no-browser --port \
    8765\n\nThe tokens are kept beside the store, sealed, and refreshed by the gateway. For somebody whose \
    browser is on another machine, run it on the gateway's machine with `--device`, or with `--port` after \
    `ssh -L 8765:127.0.0.1:8765 GATEWAY` on theirs."
)]
pub(super) struct Login {
    /// The server, by its name in the configuration
    server: String,
    /// Who logs in; by default the principal of the configuration
    #[arg(long = "as", value_name = "PRINCIPAL")]
    principal: Option<String>,
    /// Show a code to enter on another device, if the server's authorization server supports it
    #[arg(long)]
    device: bool,
    /// Print the address instead of opening a browser
    #[arg(long)]
    no_browser: bool,
    /// The port of this machine to which the browser comes back, where it has to be known (`ssh -L`)
    #[arg(long, value_name = "PORT", conflicts_with = "device",
        value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(super) struct Logout {
    /// The server, by its name in the configuration
    server: String,
    /// Who logs out; by default the principal of the configuration
    #[arg(long = "as", value_name = "PRINCIPAL")]
    principal: Option<String>,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

pub(super) fn run(args: &Login) -> Result<Exit, Failure> {
    let config = config::load(super::daemon::absolute_config(&args.config.path())?)?;
    let target = LoginTarget::of(&config, &args.server, args.principal.as_deref())?;
    check_principal(&config, &target.principal)?;
    let display = match args.no_browser {
        true => AddressDisplay::PrintOnly,
        false => AddressDisplay::OpenBrowser,
    };
    let port = args.port.or(target.login.redirect_port);
    let agent = BrowserLogin::new(port, display).map_err(Failure::from)?;
    let settings = OAuthSettings {
        certificate_authority: target.certificate_authority,
        ..oauth_settings(&target.login)
    };
    let client = OAuthClient::new(target.url.clone(), settings, Arc::new(target.stored_login))
        .with_agent(Arc::new(agent));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        match args.device {
            true => client.log_in_with_code().await,
            false => client.log_in().await,
        }
    });
    let tokens = result.map_err(login_failure)?;
    print_login(args, &tokens)?;
    Ok(Exit::Ok)
}

fn print_login(args: &Login, tokens: &Tokens) -> Result<(), Failure> {
    let scopes: Vec<&str> = tokens.scopes.iter().map(String::as_str).collect();
    let expires = tokens.expires.map(|at| at.to_string());
    if args.output.json {
        output::json(&json!({
            "server": args.server,
            "issuer": tokens.issuer,
            "scopes": scopes,
            "expires": expires,
            "refreshable": tokens.is_refreshable(),
        }))?;
        return Ok(());
    }
    let how_long = match (tokens.is_refreshable(), expires) {
        (true, _) => "the gateway keeps the login fresh".to_owned(),
        (false, Some(at)) => format!("it ends at {at}"),
        (false, None) => "its end is not known".to_owned(),
    };
    output::line(&format!(
        "logged in at {} by {}; {how_long}",
        args.server,
        escape::line(&tokens.issuer)
    ))?;
    Ok(())
}

pub(super) fn logout(args: &Logout) -> Result<Exit, Failure> {
    let config = config::load(super::daemon::absolute_config(&args.config.path())?)?;
    let target = LoginTarget::of(&config, &args.server, args.principal.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let was_logged_in = runtime.block_on(target.stored_login.forget()).map_err(login_failure)?;
    match (args.output.json, was_logged_in) {
        (true, _) => output::json(&json!({ "ok": true, "was_logged_in": was_logged_in }))?,
        (false, true) => output::line(&format!("logged out at {}", args.server))?,
        (false, false) => output::line(&format!("nobody was logged in at {}", args.server))?,
    }
    Ok(Exit::Ok)
}

/// Checks that somebody can come as this principal: the configuration's own, one that the signed
/// policy names, or `ISSUER:SUBJECT` of an issuer that it trusts. A login of anybody else would
/// never be used.
fn check_principal(config: &Config, id: &PrincipalId) -> Result<(), Failure> {
    if *id == config.principal {
        return Ok(());
    }
    let policy = config::load_policy(
        config,
        config::SignatureChecks::Required,
        SystemClock::default().now(),
    )?;
    if policy.principal(id).is_some() {
        return Ok(());
    }
    let failure = |message: String, next: String| {
        Failure::new(Exit::NotFound, "login.principal", message).with_next_step(next)
    };
    let of_issuer = id.as_str().split_once(':').and_then(|(issuer, subject)| {
        let trusted = policy.policy().issuers.get(issuer)?;
        Some(trusted.subjects.get(subject))
    });
    match of_issuer {
        Some(None) => Ok(()),
        Some(Some(named)) => Err(failure(
            format!("the policy lets `{id}` act as `{named}`"),
            format!("write `--as {named}`"),
        )),
        None => Err(failure(
            format!(
                "the policy names neither the principal `{id}` nor an issuer that it could come from"
            ),
            format!(
                "write `[principals.\"{id}\"]` in policy.toml and sign it again, or correct the name"
            ),
        )),
    }
}

/// A server at which a person logs in, and where that login is stored.
struct LoginTarget {
    url: String,
    login: ServerLogin,
    certificate_authority: Option<CertificateAuthority>,
    principal: PrincipalId,
    stored_login: SealedLogin,
}

impl LoginTarget {
    fn of(config: &Config, server: &str, principal: Option<&str>) -> Result<Self, Failure> {
        let unknown = || {
            let names = config.upstreams.iter().map(|upstream| upstream.name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            let message = format!("there is no server `{}`", escape::line(server));
            Failure::new(Exit::NotFound, "login.server", message)
                .with_next_step(format!("the servers are {names}"))
        };
        let name = UpstreamName::parse(server).map_err(|_| unknown())?;
        let found = config.upstreams.iter().find(|upstream| upstream.name == name);
        let TransportSettings::Http { url, login, certificate_authority, .. } =
            &found.ok_or_else(unknown)?.transport
        else {
            let message =
                format!("`{name}` is a local program; only a server with a `url` has a login");
            return Err(Failure::new(Exit::Usage, "login.server", message)
                .with_next_step("what it needs stands in its `env`"));
        };
        if login.grant != GrantType::AuthorizationCode {
            let message = format!("the gateway gets its tokens for `{name}` by itself");
            return Err(Failure::new(Exit::Usage, "login.server", message)
                .with_next_step(format!("see `grant` under `[mcpServers.{name}.oauth]`")));
        }
        let id = match principal {
            None => config.principal.clone(),
            Some(id) => PrincipalId::parse(id)
                .map_err(|error| Failure::new(Exit::Usage, "login.principal", error))?,
        };
        let stored_login = LoginFolder::for_store(&config.store_path).login(&name, &id);
        Ok(Self {
            url: url.clone(),
            login: login.clone(),
            certificate_authority: certificate_authority.clone(),
            principal: id,
            stored_login,
        })
    }
}

fn login_failure(error: OAuthError) -> Failure {
    let exit = match &error {
        OAuthError::Store(_) => Exit::Store,
        _ => Exit::Invalid,
    };
    Failure::new(exit, error.code(), error)
}

/// A login in the person's browser, which redirects to a loopback port of this machine (RFC 8252
/// §7.3). Serves one login.
struct BrowserLogin {
    listener: TcpListener,
    port: u16,
    display: AddressDisplay,
}

/// How the person gets to the login page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressDisplay {
    /// A browser is opened; where that fails, the address is printed.
    OpenBrowser,
    /// The address is printed.
    PrintOnly,
}

impl BrowserLogin {
    fn new(port: Option<u16>, display: AddressDisplay) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0)))?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port, display })
    }

    /// Waits for the redirect of the browser, and returns its request target. Any page and any program
    /// of the machine can send something else to the port.
    fn wait(listener: &TcpListener, state: &str) -> Result<String, OAuthError> {
        let port_error = |_| OAuthError::Unfinished(PORT_FAILED);
        listener.set_nonblocking(true).map_err(port_error)?;
        let end = Instant::now() + LOGIN_TIMEOUT;
        while Instant::now() < end {
            match listener.accept() {
                Ok((stream, _)) => {
                    if let Some(target) = answer_redirect(stream, state) {
                        return Ok(target);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(error) => return Err(port_error(error)),
            }
        }
        Err(OAuthError::Unfinished("nobody came back in time"))
    }
}

/// Answers one request, and returns its target if it is the redirect of the login with this state.
fn answer_redirect(mut stream: TcpStream, state: &str) -> Option<String> {
    stream.set_nonblocking(false).ok()?;
    let end = Instant::now() + REQUEST_TIMEOUT;
    let mut head = Vec::new();
    let mut bytes = (&stream).take(MAX_REQUEST_BYTES);
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = end.saturating_duration_since(Instant::now());
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1)))).ok()?;
        if left.is_zero() {
            break;
        }
        match bytes.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(read) => head.extend_from_slice(buffer.get(..read)?),
        }
    }
    let head = String::from_utf8(head).ok()?;
    let target = head.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
    let target = target.filter(|target| has_state(target, state)).map(str::to_owned);
    let (status, text) = match target {
        Some(_) => ("200 OK", DONE_PAGE),
        None => ("404 Not Found", "nothing is here\n"),
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    target
}

/// Whether a request target is a redirect with this state.
fn has_state(target: &str, state: &str) -> bool {
    let Ok(target) = Url::parse(&format!("http://127.0.0.1{target}")) else { return false };
    target.path() == "/callback"
        && target.query_pairs().any(|(name, value)| name == "state" && value == state)
}

impl AuthorizationAgent for BrowserLogin {
    fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}/callback", self.port)
    }

    fn authorize(&self, address: Url) -> BoxFuture<'_, Result<Url, OAuthError>> {
        if self.display == AddressDisplay::PrintOnly || !open_browser(address.as_str()) {
            let port = self.port;
            output::stderr(&format!(
                "open this address in a browser:\n  {address}\nit comes back to port {port} of this machine; \
                 from another one, run first: ssh -L {port}:127.0.0.1:{port} and this machine's name\n"
            ));
        } else {
            output::stderr("a browser was opened; log in there\n");
        }
        let redirect = self.redirect_uri();
        let listener = self.listener.try_clone();
        let state = address.query_pairs().find(|(name, _)| name == "state");
        let state = state.map(|(_, value)| value.into_owned()).unwrap_or_default();
        Box::pin(async move {
            let port_error = || OAuthError::Unfinished(PORT_FAILED);
            let listener = listener.map_err(|_| port_error())?;
            let waited = tokio::task::spawn_blocking(move || Self::wait(&listener, &state)).await;
            let target = waited.map_err(|_| port_error())??;
            let redirect = Url::parse(&redirect).and_then(|redirect| redirect.join(&target));
            redirect.map_err(|_| OAuthError::Unfinished("the browser came back with no address"))
        })
    }

    fn show_code(&self, prompt: &DevicePrompt) {
        output::stderr(&format!(
            "open {} on any device and type in\n  {}\n",
            escape::line(&prompt.verification_uri),
            escape::line(&prompt.user_code)
        ));
    }
}

/// Opens an address in the person's browser; false if no program can be started.
fn open_browser(address: &str) -> bool {
    let (program, arguments): (_, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        // No shell, which would read signs of the address as its own.
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let started = Command::new(program)
        .args(arguments)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.is_ok()
}
