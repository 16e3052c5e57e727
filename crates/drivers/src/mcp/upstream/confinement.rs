//! The confinement of an upstream's child, and files that are denied to it later.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::{State, Upstream};
use crate::confine::{CoverRefreshError, EnforcedConfinement};
use crate::mcp::config::{Endpoint, UpstreamConfig};

impl Upstream {
    /// The confinement of the child, after any attempt in progress; `None` if there is no confined child.
    pub async fn enforced(&self) -> Option<EnforcedConfinement> {
        let _nobody_connects = self.connecting.lock().await;
        let state = self.state();
        state.connection.as_ref().and_then(|live| live.enforced().cloned())
    }

    /// Denies these files too from now on, and keeps those that were replaced or created since the child was started
    /// from it without ending it, also before it has answered for the first time.
    ///
    /// # Errors
    ///
    /// [`CoverRefreshError`], if the child may still reach such a file: it must be ended.
    pub async fn cover_replaced_files(
        &self,
        denied: &BTreeSet<PathBuf>,
    ) -> Result<(), CoverRefreshError> {
        let (child, config) = {
            let mut state = self.state();
            state.denied.extend(denied.iter().cloned());
            (state.child.clone(), self.current_config(&state))
        };
        match child.zip(config.confinement().cloned()) {
            Some((child, confined)) => child.cover_replaced_files(confined).await,
            None => Ok(()),
        }
    }

    /// The configuration of the next connection: with all files that are denied by now.
    pub(super) fn current_config(&self, state: &State) -> Arc<UpstreamConfig> {
        let confined = self.config.confinement().cloned();
        let Some(mut confined) = confined.filter(|_| !state.denied.is_empty()) else {
            return Arc::clone(&self.config);
        };
        confined.confinement.denied.extend(state.denied.iter().cloned());
        let mut config = UpstreamConfig::clone(&self.config);
        if let Endpoint::Stdio(stdio) = &mut config.endpoint {
            stdio.confinement = Some(confined);
        }
        Arc::new(config)
    }
}
