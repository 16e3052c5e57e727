//! The protections, each of which takes one ability from a child.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! protections {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// Something that is kept from a child.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[non_exhaustive]
        pub enum Protection {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl Protection {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable name, for logs and JSON.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

protections! {
    /// Files that are not allowed are neither read nor written nor executed, and other processes
    /// are neither traced nor looked into. Landlock, from Linux 5.13.
    Files = "files";
    /// Nor cut to another length. Landlock, from Linux 6.2.
    Truncate = "truncate";
    /// Nor, where they are devices, sent commands. Landlock, from Linux 6.10.
    DeviceCommands = "device_commands";
    /// What is denied is covered by mounts that only the child sees, so that it reaches what is
    /// made beside it. From Linux 5.13; whoever is not root needs user namespaces.
    Mounts = "mounts";
    /// Files of the kernel by which processes and the machine are set cannot be written: those of
    /// `/sys`, and for root those of `/proc`. With mounts, from Linux 5.13.
    KernelFiles = "kernel_files";
    /// Modes, owners, times and attributes of what is denied cannot be changed: mounts cover it,
    /// or it belongs to another user, or such calls are refused for every path.
    Metadata = "metadata";
    /// System calls that reach other processes, mounts or the kernel are refused: seccomp.
    SystemCalls = "system_calls";
    /// It runs as the user that was named.
    User = "user";
    /// No network: the child is alone in a network namespace without interfaces.
    Network = "network";
    /// No TCP port is bound or connected to, beside the namespace. Landlock, from Linux 6.7.
    Tcp = "tcp";
    /// No connection to abstract Unix sockets of others. Landlock, from Linux 6.12.
    AbstractSockets = "abstract_sockets";
    /// No signals to processes outside. Landlock, from Linux 6.12.
    Signals = "signals";
    /// No program gives it more rights, setuid ones neither.
    NoNewPrivileges = "no_new_privileges";
    /// Of root's capabilities only those are left that do not go round the rest.
    Capabilities = "capabilities";
    /// Memory is limited.
    AddressSpace = "address_space";
    /// Processor time is limited.
    CpuTime = "cpu_time";
    /// Open files are limited.
    OpenFiles = "open_files";
    /// Processes of its user are limited. The kernel does not do this to root.
    Processes = "processes";
    /// The size of a written file is limited.
    FileSize = "file_size";
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Names separated by commas.
pub(crate) fn join_names(all: &BTreeSet<Protection>) -> String {
    all.iter().map(|one| one.code()).collect::<Vec<_>>().join(", ")
}
