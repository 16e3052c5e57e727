//! How far a server reaches.

/// How far a server reaches, judged by all of its tools. If one of them mails, shares or names an
/// account, the files of the others are no files on this disk.
///
/// ```
/// use serde_json::json;
/// use weaver_policy_analysis::propose::ServerReach;
///
/// let notes = [json!({ "name": "update_note" })];
/// assert_eq!(ServerReach::of(&notes), ServerReach::Unknown);
/// let drive = [json!({ "name": "update_note" }), json!({ "name": "share_note" })];
/// assert_eq!(ServerReach::of(&drive), ServerReach::Service);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerReach {
    /// Nothing is known of the other tools, or none of them says that it reaches out.
    #[default]
    Unknown,
    /// One of the tools reaches other people or names an account, so the server speaks to a service.
    Service,
    /// It was set up for a folder of this machine, or its tools say which file it keeps
    /// everything in, and none of them speaks to a service.
    Folder,
    /// Most of its tools are about documents such as those of an office, and they lie on this
    /// machine.
    Documents,
}

impl ServerReach {
    /// Whether the server keeps what it has in files of this machine.
    pub(super) fn keeps_files(self) -> bool {
        self == Self::Folder
    }
}
