//! Adds the token to a request: as a bearer token (RFC 6750 §2.1), or with a proof of its key (RFC
//! 9449 §7.1).

use reqwest::Request;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use zeroize::Zeroizing;

use super::client::OAuthClient;
use super::dpop::{PROOF_HEADER, ProvenRequest};
use super::error::OAuthError;

impl OAuthClient {
    /// Adds the login's token to a request, and returns it; `None` without a login.
    pub(crate) async fn authorize_request(
        &self,
        request: &mut Request,
    ) -> Result<Option<Zeroizing<String>>, OAuthError> {
        let Some(login) = self.current_login().await? else { return Ok(None) };
        let token = login.access_token;
        let scheme = match &login.dpop_key {
            None => "Bearer",
            Some(key) => {
                let nonce = self.proofs.server_nonce.get();
                let proven = ProvenRequest {
                    method: request.method().as_str(),
                    url: request.url(),
                    access_token: Some(&token),
                    nonce: nonce.as_deref(),
                    now: self.proofs.clock.now(),
                };
                let proof = key.proof(&proven, self.proofs.random.as_ref())?;
                request.headers_mut().insert(PROOF_HEADER, proof);
                "DPoP"
            }
        };
        let text = Zeroizing::new(format!("{scheme} {}", *token));
        let what = "the token of the login";
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| OAuthError::Document { what, reason: "it fits no header" })?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
        Ok(Some(token))
    }

    /// Stores the nonce that the server requires in the next proof; true if the response has one.
    pub(crate) fn store_nonce(&self, headers: &HeaderMap) -> bool {
        self.proofs.server_nonce.update_from(headers)
    }
}
