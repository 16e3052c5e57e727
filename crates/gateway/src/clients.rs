//! The MCP configurations of desktop clients and editors: where they are, what they contain, and
//! how they are changed and restored.
//!
//! [`Client::all`] is the table of clients. [`ClientFile`] reads one file and returns its servers
//! in one form, whatever syntax the client uses. [`ConnectedFiles`] replaces the servers of a file
//! by the gateway's entry and keeps a backup; undoing this restores the file byte for byte if
//! nobody has changed it since, and otherwise removes only the gateway's entry.
//!
//! A file is edited by spans and never reprinted: comments, order, whitespace and line ends of
//! everything else stay. After each edit the new text is parsed and compared with the old tree plus
//! the intended change; if they differ, nothing is written.

mod atomic_file;
mod catalogue;
mod client_folders;
mod connected_file;
mod difference;
mod error;
mod file;
mod jsonc;
mod open_folder;
mod server_entry;
mod server_table;
mod temporary_file;
mod toml_text;
mod tool_filter;
mod variables;
mod yaml_text;

pub use atomic_file::{NewFile, replace_file, replace_public_file, write_new_file};
pub use catalogue::{Client, ConfigLocation, Scope};
pub use client_folders::ClientFolders;
pub use connected_file::{
    ConnectedFile, ConnectedFileState, ConnectedFiles, ConnectionPlan, GATEWAY_ENTRY, UndoAction,
};
pub use difference::unified_diff;
pub use error::ClientFileError;
pub use file::{ClientFile, ListedServer};
pub use open_folder::FilePermissions;
pub use server_entry::{ServerEntry, ServerTransport, UnusableEntry};
pub(crate) use server_table::without_toml_servers;
pub(crate) use temporary_file::is_same_mount;
pub use tool_filter::ToolFilter;
