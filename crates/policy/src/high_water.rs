//! Rollback protection: records the newest version of each signed document that was ever accepted.
//!
//! A signature proves who wrote a document, but not that it is the newest version. Without a
//! high-water mark, anybody who can write to the folder could restore an older, laxer policy with
//! its valid signature. The Update Framework (TUF, § 5.3.5 of its specification) checks versions
//! for the same reason. The mark includes the digest, so one version number cannot stand for two
//! contents.

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{
    Batch, Durability, Ledger, LedgerError, Namespace, Record, RecordKey, RecordWrite, VersionGuard,
};
use weaver_types::signature::DocumentKind;
use weaver_types::{Digest, PolicyOrigin, Tenant};

use crate::error::{DocumentFinding, LoadError};
use crate::policy_set::{DocumentVersion, PolicySet};

/// Reads a record of the ledger.
type RecordSource<'a> = &'a dyn Fn(&RecordKey) -> Result<Option<Record>, LedgerError>;

/// One high-water mark, as stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionMark {
    v: u8,
    id: String,
    version: u64,
    digest: Digest,
}

impl PolicySet {
    /// Rejects documents older than the last accepted ones, and returns the batch that records
    /// these as accepted. Commit it before the set comes into force. Only signed documents have
    /// high-water marks; for others, the batch is empty.
    ///
    /// # Errors
    /// [`LoadError`] with `policy.version_older` or `policy.version_reused`, or
    /// `policy.high_water_unreadable` when the ledger does not answer.
    pub fn high_water_batch(
        &self,
        tenant: &Tenant,
        ledger: &dyn Ledger,
    ) -> Result<Batch, LoadError> {
        self.advance_marks(tenant, &|key| ledger.read(key))
    }

    /// Rejects the documents that [`PolicySet::high_water_batch`] rejects, and changes nothing.
    /// `read` returns a record of the ledger.
    ///
    /// # Errors
    /// Those of [`PolicySet::high_water_batch`].
    pub fn check_high_water(
        &self,
        tenant: &Tenant,
        read: impl Fn(&RecordKey) -> Result<Option<Record>, LedgerError>,
    ) -> Result<(), LoadError> {
        self.advance_marks(tenant, &read).map(drop)
    }

    fn advance_marks(&self, tenant: &Tenant, read: RecordSource<'_>) -> Result<Batch, LoadError> {
        let mut batch = Batch::new(Durability::Disk);
        if self.basis().origin != PolicyOrigin::Signed {
            return Ok(batch);
        }
        let mut findings = Vec::new();
        for (kind, version) in self.versions() {
            let key = RecordKey::new(tenant.clone(), Namespace::HighWater, kind.as_str());
            match advance_mark(&key, *kind, version, read) {
                Ok(Some((expect, put))) => {
                    batch.expect.push(expect);
                    batch.put.push(put);
                }
                Ok(None) => {}
                Err(error) => findings.extend(error.findings().iter().cloned()),
            }
        }
        if findings.is_empty() { Ok(batch) } else { Err(LoadError::new(findings)) }
    }
}

/// The write that advances one mark; `None` if this version was accepted before.
fn advance_mark(
    key: &RecordKey,
    kind: DocumentKind,
    new: &DocumentVersion,
    read: RecordSource<'_>,
) -> Result<Option<(VersionGuard, RecordWrite)>, LoadError> {
    let stored = read(key).map_err(|e| unreadable(kind, &e.to_string()))?;
    if let Some(record) = &stored {
        let mark: VersionMark = serde_json::from_slice(&record.value)
            .map_err(|_| unreadable(kind, "the record is damaged or from a newer release"))?;
        if mark.v != 1 {
            return Err(unreadable(kind, "the record is from a newer release"));
        }
        if new.version < mark.version {
            let message = format!(
                "version {} is older than {}, which was accepted before",
                new.version, mark.version
            );
            return Err(finding(
                kind,
                "policy.version_older",
                message,
                "use the newer document, or raise `version` and sign again",
            ));
        }
        if new.version == mark.version {
            if new.digest == mark.digest {
                return Ok(None);
            }
            let message = format!("version {} was accepted before with other content", new.version);
            let remedy = "raise `version` and sign again";
            return Err(finding(kind, "policy.version_reused", message, remedy));
        }
    }
    let mark = VersionMark { v: 1, id: new.id.clone(), version: new.version, digest: new.digest };
    let value = canonical::serialize(&mark, Profile::Record)
        .map_err(|error| unreadable(kind, &error.to_string()))?;
    let expect = VersionGuard { key: key.clone(), version: stored.map(|record| record.version) };
    Ok(Some((expect, RecordWrite { key: key.clone(), value, expires_at: None })))
}

fn unreadable(kind: DocumentKind, why: &str) -> LoadError {
    let message = format!("the last accepted version cannot be read: {why}");
    finding(kind, "policy.high_water_unreadable", message, "repair the ledger first")
}

fn finding(kind: DocumentKind, code: &'static str, message: String, remedy: &str) -> LoadError {
    LoadError::new(vec![DocumentFinding {
        file: format!("{kind} document"),
        line: None,
        column: None,
        key: Some("version".to_owned()),
        code,
        message,
        remedy: remedy.to_owned(),
    }])
}
