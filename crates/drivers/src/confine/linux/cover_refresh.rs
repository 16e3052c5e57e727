//! The helper that covers denied files in a mount namespace of a running child.

use std::collections::BTreeSet;

use super::error::ProtectionError;
use super::{cover, denied_paths, descriptors, namespace};
use crate::confine::cover_refresh::CoverRequest;
use crate::confine::{ConfineError, EnforcedConfinement, Protection};

/// Enters the namespaces of the request, and covers what is visible there.
pub(in crate::confine) fn help(
    request: &CoverRequest,
) -> Result<EnforcedConfinement, ConfineError> {
    let covered = descriptors::close_inherited().and_then(|()| {
        // Resolved outside, where nothing is covered.
        let denied = denied_paths::with_resolved_links(&request.denied);
        let outside = cover::folder_ids(&denied);
        namespace::join(request.process, request.mount_namespace)?;
        cover::cover_visible(&denied, &outside)
    });
    let mounts = BTreeSet::from([Protection::Mounts]);
    match covered {
        Ok(()) => Ok(EnforcedConfinement { protections: mounts, ..EnforcedConfinement::default() }),
        Err(error) => Err(lacking(mounts, &error)),
    }
}

fn lacking(lacking: BTreeSet<Protection>, error: &ProtectionError) -> ConfineError {
    ConfineError::Lacking { lacking, reason: error.to_string() }
}
