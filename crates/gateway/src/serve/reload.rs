//! Hot reload: changed documents on disk come into force, all three together or none.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weaver_types::EventKind;
use weaver_types::signature::DocumentKind;

use super::error::ServeError;
use super::event::fields;
use super::gateway::Gateway;
use crate::config;
use crate::file_stamp::FileStamp;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long the files must stay unchanged before they are read.
const QUIET_TIME: Duration = Duration::from_millis(300);
/// The most findings recorded for refused documents.
const MAX_FINDINGS: usize = 16;

/// Watches the documents for as long as the gateway serves.
pub(crate) async fn watch(gateway: Arc<Gateway>) {
    let folder = gateway.config.documents_folder.clone();
    // Initially unknown, so that changes made while the gateway was opening are loaded too.
    let mut loaded = None;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let current = Some(file_stamps(&folder));
        if current == loaded {
            continue;
        }
        tokio::time::sleep(QUIET_TIME).await;
        if Some(file_stamps(&folder)) != current {
            continue;
        }
        match reload(&gateway).await {
            Ok(()) => loaded = current,
            // Retried with the next poll: a tighter policy must not wait for another change.
            Err(error) => {
                tracing::error!(%error, "changed documents could not be loaded; the old ones stay in force until they can");
            }
        }
    }
}

fn file_stamps(folder: &Path) -> Vec<Option<FileStamp>> {
    let kinds = [DocumentKind::Policy, DocumentKind::Contracts, DocumentKind::Keys];
    let names = kinds.iter().flat_map(|kind| [format!("{kind}.toml"), format!("{kind}.toml.sig")]);
    names.map(|name| FileStamp::at(&folder.join(name))).collect()
}

/// Puts the documents on disk into force, or records why they were refused.
pub(crate) async fn reload(gateway: &Gateway) -> Result<(), ServeError> {
    let now = gateway.clock.now();
    let read = config::load_policy(
        &gateway.config,
        config::SignatureChecks::unless(gateway.unsigned_development),
        now,
    );
    let refusal = match read {
        Err(errors) => ReloadRefusal::new(errors.code(), errors.findings()),
        Ok(set)
            if set.basis() == gateway.kernel.policy().basis()
                && set.versions() == gateway.kernel.policy().versions() =>
        {
            gateway.note_refused_documents(None);
            return Ok(());
        }
        Ok(set) if set.principal(&gateway.config.principal).is_none() => ReloadRefusal {
            code: "config.unknown_principal".to_owned(),
            findings: vec![format!(
                "the policy does not name the principal `{}`",
                gateway.config.principal
            )],
        },
        Ok(set) => match set.high_water_batch(&gateway.tenant, gateway.kernel.ledger().as_ref()) {
            Err(error) => ReloadRefusal::new(error.code(), error.findings()),
            Ok(accepted) => {
                gateway.kernel.ledger().commit(accepted).await?;
                gateway.replace_policy(set).await?;
                gateway.note_refused_documents(None);
                return Ok(());
            }
        },
    };
    tracing::warn!(code = refusal.code, findings = ?refusal.findings, "changed documents were refused; the old ones stay in force");
    gateway.note_refused_documents(refusal.findings.first().cloned());
    let event_fields =
        fields([("code", json!(refusal.code)), ("findings", json!(refusal.findings))]);
    gateway.kernel.record_host_event(EventKind::PolicyRefused, event_fields).await?;
    Ok(())
}

/// Why documents were refused.
struct ReloadRefusal {
    code: String,
    findings: Vec<String>,
}

impl ReloadRefusal {
    fn new(code: &str, findings: &[config::DocumentFinding]) -> Self {
        let findings = findings.iter().take(MAX_FINDINGS);
        let lines = findings.map(|f| format!("{}: {} [{}]", f.file, f.message, f.code));
        Self { code: code.to_owned(), findings: lines.collect() }
    }
}
