//! Creates a gateway from the MCP configurations found on a machine: what `weaver init` does.
//!
//! Each step is a value: a [`Selection`] takes servers from clients' files, gives them valid names
//! and separates their secrets; a [`GatewayDraft`] is the folder before it is signed, from which
//! the servers are started; a [`Review`] is what each tool will be allowed; and a [`SetupFolder`]
//! writes everything to a staging folder, checks it as the gateway would, and moves it into place
//! in one step, so that an interrupted setup leaves either nothing or everything.
//!
//! Nothing here decides about calls: the output is documents, which take effect once they are
//! signed.

mod contract_text;
mod documents;
mod error;
mod folder;
mod folder_exchange;
mod held_calls;
mod local_writes;
mod permission;
mod policy_text;
mod posture;
mod posture_change;
mod program_path;
mod removal;
mod review;
mod revision;
mod secret_location;
mod secrets;
mod selection;
mod server_matcher;
mod suspicious_passages;
mod tool_choice;
mod tool_review;
mod update;

pub use documents::{GatewayDraft, SEARCH_PROFILE, ServerSection, owner_key_file, root_key_file};
pub use error::SetupError;
pub use folder::{GatewayKeys, SetupFolder};
pub use permission::Permission;
pub use posture::Posture;
pub use removal::ServerRemoval;
pub use review::{Review, ReviewError, ReviewRow};
pub use revision::PolicyRevision;
pub use secret_location::SecretLocation;
pub use secrets::{ExtractedSecret, private_values};
pub use selection::{
    HostEnvironment, SelectedServer, Selection, ServerFolders, ServerOrigin, SkippedServer,
    UsedNames,
};
pub use server_matcher::{ServerMatcher, UNKNOWN_VALUE};
pub use suspicious_passages::{SuspiciousPassage, suspicious_passages};
pub use tool_choice::{ToolChoice, ToolClass};
pub use tool_review::{PresentTool, ToolReview};
pub use update::{GatewayUpdate, ServerChanges};

#[cfg(test)]
mod careful_tests;
mod tool_doubt;
