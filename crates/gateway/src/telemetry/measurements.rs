//! What is measured when metrics are gathered, besides the counters and the status.

use std::path::Path;

use weaver_agent_kernel::ApprovalCounts;

use super::family::{MetricFamily, MetricKind, SampleValue};
use crate::expiry::Expiry;
use weaver_types::Timestamp;

/// The measurements of one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measurements {
    pub(crate) now: Timestamp,
    pub(crate) approvals: ApprovalCounts,
    /// When the oldest held call was held.
    pub(crate) oldest_held: Option<Timestamp>,
    pub(crate) store: StoreSizes,
    /// `None` where the log has no key.
    pub(crate) checkpoints: Option<CheckpointHealth>,
    pub(crate) expiries: Vec<Expiry>,
}

/// Sizes of the ledger's files, and the free space beside them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StoreSizes {
    ledger: u64,
    wal: u64,
    /// `None` where the system does not tell.
    free: Option<u64>,
}

/// How the signing and publishing of checkpoints goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckpointHealth {
    pub(crate) signing_failures: u64,
    pub(crate) publishing_failures: u64,
    pub(crate) signed_at: Option<Timestamp>,
    /// When the newest checkpoint arrived at the target that is most behind; `None` if one never
    /// got any.
    pub(crate) published_at: Option<Timestamp>,
    /// Targets whose last delivery failed.
    pub(crate) failing_targets: u64,
    /// Events that no checkpoint covers.
    pub(crate) unsigned_events: u64,
}

impl StoreSizes {
    pub(crate) fn of(store: &Path) -> Self {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
        let mut wal = store.as_os_str().to_owned();
        wal.push("-wal");
        Self { ledger: size(store), wal: size(Path::new(&wal)), free: free_bytes(store) }
    }
}

#[cfg(unix)]
fn free_bytes(store: &Path) -> Option<u64> {
    let stats = rustix::fs::statvfs(store).ok()?;
    Some(stats.f_bavail.saturating_mul(stats.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_store: &Path) -> Option<u64> {
    None
}

impl Measurements {
    pub(super) fn families(&self) -> Vec<MetricFamily> {
        let mut families = vec![self.approvals(), self.oldest_held(), self.store()];
        families.extend(self.store.free.map(|free| {
            let names = ["weaver_store_free_bytes", "weaver.store.free", "By"];
            let help = "Free bytes of the file system that holds the ledger.";
            MetricFamily::new(MetricKind::Gauge, names, help).only(free)
        }));
        families.extend(self.checkpoint_families());
        families.push(self.expiries());
        families
    }

    fn approvals(&self) -> MetricFamily {
        let names = ["weaver_approvals_total", "weaver.approvals", "{request}"];
        let help = "Requests for an approval by what came of them, and signed files that did not \
                    count (`rejected`).";
        let counts = &self.approvals;
        let outcomes = [
            ("granted", counts.granted),
            ("denied", counts.denied),
            ("expired", counts.expired),
            ("revoked", counts.revoked),
            ("superseded", counts.superseded),
            ("rejected", counts.rejected),
        ];
        labelled(MetricFamily::new(MetricKind::Counter, names, help), "outcome", &outcomes)
    }

    fn oldest_held(&self) -> MetricFamily {
        let names = ["weaver_oldest_held_call_seconds", "weaver.calls.held.oldest", "s"];
        let help = "How long the oldest held call has waited for an approval; 0 if none waits.";
        let age = self.oldest_held.map_or(0, |at| self.now.since(at).as_secs());
        MetricFamily::new(MetricKind::Gauge, names, help).only(age)
    }

    fn store(&self) -> MetricFamily {
        let names = ["weaver_store_bytes", "weaver.store.size", "By"];
        let help = "Sizes of the ledger and of its write-ahead log.";
        let files = [("ledger", self.store.ledger), ("wal", self.store.wal)];
        labelled(MetricFamily::new(MetricKind::Gauge, names, help), "file", &files)
    }

    fn expiries(&self) -> MetricFamily {
        let names = ["weaver_expiry_seconds", "weaver.expiry", "s"];
        let help = "Seconds until a document, a key in one, the certificate or the token of a \
                    client ends; 0 if it has ended.";
        let family = MetricFamily::new(MetricKind::Gauge, names, help);
        self.expiries.iter().fold(family, |family, expiry| {
            let labels = [("kind", expiry.kind.as_str()), ("name", expiry.name.as_str())];
            let left = expiry.at.since(self.now).as_secs();
            family.with(&labels, SampleValue::Number(left))
        })
    }
}

impl Measurements {
    /// The metrics of checkpoints, without samples where the log has no key.
    fn checkpoint_families(&self) -> [MetricFamily; 4] {
        let health = self.checkpoints.as_ref();
        let names = ["weaver_checkpoint_failures_total", "weaver.checkpoint.failures", "{attempt}"];
        let help = "Attempts to sign a checkpoint of the log or to deliver one that failed.";
        let failures = MetricFamily::new(MetricKind::Counter, names, help);
        let stages = health.map(|health| {
            [("sign", health.signing_failures), ("publish", health.publishing_failures)]
        });
        let failures = labelled(failures, "stage", stages.as_ref().map_or(&[], |all| all));
        let names = ["weaver_checkpoint_age_seconds", "weaver.checkpoint.age", "s"];
        let help = "Age of the last checkpoint that was signed, and of the last that arrived at the \
                    target that is most behind.";
        let mut age = MetricFamily::new(MetricKind::Gauge, names, help);
        let ends =
            health.map(|health| [("sign", health.signed_at), ("publish", health.published_at)]);
        for (stage, at) in ends.into_iter().flatten() {
            if let Some(at) = at {
                let seconds = SampleValue::Number(self.now.since(at).as_secs());
                age = age.with(&[("stage", stage)], seconds);
            }
        }
        let gauge = |names, help, value: Option<u64>| {
            let family = MetricFamily::new(MetricKind::Gauge, names, help);
            match value {
                Some(value) => family.only(value),
                None => family,
            }
        };
        let failing = gauge(
            ["weaver_checkpoint_failing_targets", "weaver.checkpoint.failing", "{target}"],
            "Targets whose last delivery failed.",
            health.map(|health| health.failing_targets),
        );
        let unsigned = gauge(
            ["weaver_checkpoint_unsigned_events", "weaver.checkpoint.unsigned", "{event}"],
            "Events of the log that no signed checkpoint covers.",
            health.map(|health| health.unsigned_events),
        );
        [failures, age, failing, unsigned]
    }
}

/// A metric with a sample for each value of one label.
fn labelled(
    family: MetricFamily,
    label: &'static str,
    samples: &[(&'static str, u64)],
) -> MetricFamily {
    samples.iter().fold(family, |family, (value, number)| {
        family.with(&[(label, value)], SampleValue::Number(*number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expiry::ExpiryKind;
    use crate::telemetry::render;

    const SECOND: i64 = 1_000_000;

    #[test]
    fn ages_and_ends_are_in_seconds_and_what_has_ended_is_at_zero() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * SECOND);
        let expiry = |name: &str, seconds| Expiry {
            kind: ExpiryKind::ClientToken,
            name: name.to_owned(),
            at: at(seconds),
        };
        let measured = Measurements {
            now: at(1_000),
            oldest_held: Some(at(940)),
            checkpoints: Some(CheckpointHealth {
                signing_failures: 1,
                publishing_failures: 2,
                signed_at: Some(at(990)),
                published_at: None,
                failing_targets: 3,
                unsigned_events: 4,
            }),
            expiries: vec![expiry("soon", 1_005), expiry("gone", 5)],
            ..Measurements::default()
        };
        let text = render(&measured.families());
        for line in [
            "weaver_oldest_held_call_seconds 60",
            "weaver_checkpoint_failures_total{stage=\"sign\"} 1",
            "weaver_checkpoint_failures_total{stage=\"publish\"} 2",
            "weaver_checkpoint_age_seconds{stage=\"sign\"} 10",
            "weaver_checkpoint_failing_targets 3",
            "weaver_checkpoint_unsigned_events 4",
            "weaver_expiry_seconds{kind=\"client_token\",name=\"soon\"} 5",
            "weaver_expiry_seconds{kind=\"client_token\",name=\"gone\"} 0",
            "weaver_approvals_total{outcome=\"rejected\"} 0",
        ] {
            assert!(text.lines().any(|told| told == line), "{line}: {text}");
        }
        assert!(!text.contains("{stage=\"publish\"} 10"), "nothing ever arrived: {text}");
        let unsigned = render(&Measurements::default().families());
        assert!(!unsigned.contains("weaver_checkpoint_failures_total{"), "{unsigned}");
    }
}
