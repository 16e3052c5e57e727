//! Builds every HTTP client.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url};
use weaver_types::BoxFuture;

use super::CertificateAuthority;
use super::address_range::{self, AddressRange};
use super::client_error::ClientError;

/// Time to resolve a name and connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Most idle connections kept per host.
const MAX_IDLE_CONNECTIONS: usize = 8;
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Most addresses of one host that are used.
const MAX_ADDRESSES: usize = 64;

/// Resolves a host name to addresses.
pub type HostLookup =
    Arc<dyn Fn(&str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync + 'static>;

/// Resolves by the operating system.
#[must_use]
pub fn system_host_lookup() -> HostLookup {
    Arc::new(|host| {
        let host = host.to_owned();
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    })
}

/// Resolves names and returns only addresses that may be connected to. The client connects to these
/// addresses and does not resolve again.
#[derive(Clone)]
pub(crate) struct GuardedResolver {
    pub(crate) lookup: HostLookup,
    pub(crate) networks: Arc<[AddressRange]>,
}

/// A name that resolves to an address that must not be connected to.
#[derive(Debug)]
pub(super) struct RefusedAddress(pub(super) &'static str);

impl fmt::Display for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the host leads to an address that is not allowed ({})", self.0)
    }
}

impl StdError for RefusedAddress {}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = (self.lookup)(name.as_str());
        let networks = Arc::clone(&self.networks);
        Box::pin(async move {
            let addresses = addresses.await?;
            // One refused address refuses the name: a name that mixes public and internal addresses
            // is a rebinding attempt.
            for address in &addresses {
                if let Some(what) = address_range::refusal_reason(*address, &networks) {
                    return Err(RefusedAddress(what).into());
                }
            }
            let addresses = addresses.into_iter().take(MAX_ADDRESSES);
            Ok(Box::new(addresses.map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// Builds a client for the scheme of `url`, without redirects and retries. For `https` it trusts
/// the platform's certificates and those of `certificate_authority`, with ring as its cryptography. A plain
/// `http` client needs no certificates, so none are loaded. A guarded client uses no proxy, because
/// a proxy would connect to addresses that the guard has not checked.
pub(crate) fn build_client(
    url: &Url,
    guard: Option<GuardedResolver>,
    certificate_authority: Option<&CertificateAuthority>,
) -> Result<Client, ClientError> {
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .pool_idle_timeout(IDLE_TIMEOUT);
    let builder = match guard {
        Some(guard) => builder.no_proxy().dns_resolver(guard),
        None => builder,
    };
    let builder = if url.scheme() == "https" {
        // Fails if the host process has already installed a provider, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let roots = certificate_authority
            .map(CertificateAuthority::certificates)
            .transpose()?
            .unwrap_or_default();
        builder.tls_certs_merge(roots)
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
