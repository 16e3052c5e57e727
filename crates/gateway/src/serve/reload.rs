//! Hot reload: documents that were changed on disk come into force, all three together or none.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::json;
use weaver_types::EventKind;
use weaver_types::signature::Kind;

use super::error::ServeError;
use super::event::fields;
use super::gateway::Gateway;
use crate::config;

/// How often the folder of the documents is looked at.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long the files must stay as they are before they are read.
const SETTLED: Duration = Duration::from_millis(300);
/// How many findings of refused documents are recorded.
const MAX_FINDINGS: usize = 16;

/// What tells whether a file has changed: its length and the time of its last change.
type Stamp = Vec<Option<(u64, SystemTime)>>;

/// Watches the documents for as long as the gateway serves.
pub(crate) async fn watch(gateway: Arc<Gateway>) {
    let folder = gateway.config.folder.clone();
    // Nothing is known at first: what changed while the gateway was opened is taken in too, and where
    // nothing did, the documents are those in force.
    let mut known = None;
    loop {
        tokio::time::sleep(INTERVAL).await;
        let changed = Some(stamp(&folder));
        if changed == known {
            continue;
        }
        tokio::time::sleep(SETTLED).await;
        if Some(stamp(&folder)) != changed {
            continue;
        }
        match reload(&gateway).await {
            Ok(()) => known = changed,
            // Tried again with the next look: a tighter policy must not wait for another change.
            Err(error) => {
                tracing::error!(%error, "changed documents could not be taken in; the old ones stay in force until they can");
            }
        }
    }
}

fn stamp(folder: &Path) -> Stamp {
    let kinds = [Kind::Policy, Kind::Contracts, Kind::Keys];
    let names = kinds.iter().flat_map(|kind| [format!("{kind}.toml"), format!("{kind}.toml.sig")]);
    let of = |name: String| {
        let about = std::fs::metadata(folder.join(name)).ok()?;
        Some((about.len(), about.modified().ok()?))
    };
    names.map(of).collect()
}

/// Brings the documents on disk into force, or records why they were refused.
async fn reload(gateway: &Gateway) -> Result<(), ServeError> {
    let now = gateway.clock.now();
    let read = config::load_policy(
        &gateway.config,
        config::SignatureChecks::unless(gateway.unsigned_development),
        now,
    );
    let problem = match read {
        Err(errors) => ReloadRefusal::of(errors.code(), errors.findings()),
        Ok(set)
            if set.basis() == gateway.kernel.policy().basis()
                && set.versions() == gateway.kernel.policy().versions() =>
        {
            return Ok(());
        }
        Ok(set) if set.principal(&gateway.config.principal).is_none() => ReloadRefusal {
            code: "config.unknown_principal".to_owned(),
            findings: vec![format!(
                "the policy does not name the principal `{}`",
                gateway.config.principal
            )],
        },
        Ok(set) => match set.high_water(&gateway.tenant, gateway.kernel.ledger().as_ref()) {
            Err(error) => ReloadRefusal::of(error.code(), error.findings()),
            Ok(accepted) => {
                gateway.kernel.ledger().commit(accepted).await?;
                return gateway.put_in_force(set).await;
            }
        },
    };
    tracing::warn!(code = problem.code, findings = ?problem.findings, "changed documents were refused; the old ones stay in force");
    let about = fields([("code", json!(problem.code)), ("findings", json!(problem.findings))]);
    gateway.kernel.note(EventKind::PolicyRefused, about).await?;
    Ok(())
}

/// Why documents were refused.
struct ReloadRefusal {
    code: String,
    findings: Vec<String>,
}

impl ReloadRefusal {
    fn of(code: &str, findings: &[config::Finding]) -> Self {
        let findings = findings.iter().take(MAX_FINDINGS);
        let shown = findings.map(|f| format!("{}: {} [{}]", f.file, f.message, f.code));
        Self { code: code.to_owned(), findings: shown.collect() }
    }
}
