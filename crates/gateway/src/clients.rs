//! The MCP configurations of desktop clients and editors: where they lie, what they say, and how
//! they are changed and put back.
//!
//! [`Client::all`] is the table of clients. [`ClientFile`] reads one file and gives its servers in
//! one form, whatever the client writes. [`Connection`] rewrites a file to the one entry of the
//! gateway and keeps what was there; undoing it restores the file byte for byte when nobody has
//! changed it since, and otherwise takes back our own entry alone.
//!
//! A file is edited by spans, never printed anew: comments, order, blanks and line ends of
//! everything else stay. After each edit the new text is parsed, and must be the old tree with
//! exactly the wanted difference; where it is not, nothing is written.

mod atomic_file;
mod catalogue;
mod connection;
mod difference;
mod error;
mod file;
mod folders;
mod jsonc;
mod server_entry;
mod server_table;
mod toml_text;
mod variables;
mod yaml_text;

pub use atomic_file::{replace_file, write_new_file};
pub use catalogue::{Client, ConfigPlace, Scope};
pub use connection::{Connection, ConnectionState, Connections, GATEWAY_ENTRY, Plan, Undo};
pub use difference::unified;
pub use error::ClientFileError;
pub use file::{ClientFile, ListedServer};
pub use folders::Folders;
pub use server_entry::{ServerEntry, ServerTransport, UnusableEntry};
