//! The one way in which a client for HTTP is made.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url};
use weaver_types::BoxFuture;

use super::Authority;
use super::client_error::ClientError;
use super::network::{self, Network};

/// Time for a name to be looked up and a connection to stand.
const CONNECT: Duration = Duration::from_secs(10);
/// Most connections to a host that are kept while nobody uses them, and for how long.
const IDLE: usize = 8;
const IDLE_TIME: Duration = Duration::from_secs(60);
/// Most addresses of one host that are looked at.
const MAX_ADDRESSES: usize = 64;

/// How the addresses of a name are found.
pub type Lookup =
    Arc<dyn Fn(&str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync + 'static>;

/// A lookup by the operating system.
#[must_use]
pub fn system_lookup() -> Lookup {
    Arc::new(|host| {
        let host = host.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// Looks names up, and hands out only addresses that may be connected to. The connection is made
/// to what was handed out: nothing is looked up a second time.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(crate) lookup: Lookup,
    pub(crate) networks: Arc<[Network]>,
}

/// A name that leads where no connection is made.
#[derive(Debug)]
pub(super) struct AddressRefused(pub(super) &'static str);

impl fmt::Display for AddressRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the host leads to an address that is not allowed ({})", self.0)
    }
}

impl StdError for AddressRefused {}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let found = (self.lookup)(name.as_str());
        let networks = Arc::clone(&self.networks);
        Box::pin(async move {
            let found = found.await?;
            // A name with one address that is refused is refused: it is not what it seems.
            for address in &found {
                if let Some(what) = network::refusal(*address, &networks) {
                    return Err(AddressRefused(what).into());
                }
            }
            let found = found.into_iter().take(MAX_ADDRESSES);
            Ok(Box::new(found.map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// A client for the scheme of this address, without redirects and without retries. For `https` the
/// platform's certificates count, and those of the authority; the cryptography is ring's. A plain
/// `http` endpoint needs no certificates, so none are loaded. With a guard, no proxy stands between
/// us and the addresses that it lets through.
pub(crate) fn client(
    url: &Url,
    guard: Option<Guard>,
    authority: Option<&Authority>,
) -> Result<Client, ClientError> {
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .tcp_nodelay(true)
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(IDLE)
        .pool_idle_timeout(IDLE_TIME);
    let builder = match guard {
        Some(guard) => builder.no_proxy().dns_resolver(guard),
        None => builder,
    };
    let builder = if url.scheme() == "https" {
        // Refused when the host chose a provider before, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let own = authority.map(Authority::certificates).transpose()?.unwrap_or_default();
        builder.tls_certs_merge(own)
    } else {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| ClientError::Tls)?
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder.tls_backend_preconfigured(tls)
    };
    builder.build().map_err(|_| ClientError::Platform)
}
