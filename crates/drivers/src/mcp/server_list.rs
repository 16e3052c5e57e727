//! The lists that a server offers: tools, resources, resource templates and prompts.

use std::fmt;

/// One of the lists that a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerList {
    /// Its tools.
    Tools,
    /// Its resources.
    Resources,
    /// Its URI templates for further resources.
    ResourceTemplates,
    /// Its prompts.
    Prompts,
}

impl ServerList {
    /// All lists.
    pub const ALL: [Self; 4] =
        [Self::Tools, Self::Resources, Self::ResourceTemplates, Self::Prompts];

    /// The method that requests it.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The field of the result that holds it.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The field that identifies an item in it.
    #[must_use]
    pub fn identifier(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::ResourceTemplates => "uriTemplate",
        }
    }

    /// The capability by which a server declares it.
    #[must_use]
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources | Self::ResourceTemplates => "resources",
            Self::Prompts => "prompts",
        }
    }

    /// The lists that a notification declares changed.
    pub(crate) fn changed_by(method: &str) -> &'static [Self] {
        match method {
            "notifications/tools/list_changed" => &[Self::Tools],
            "notifications/resources/list_changed" => &[Self::Resources, Self::ResourceTemplates],
            "notifications/prompts/list_changed" => &[Self::Prompts],
            _ => &[],
        }
    }
}

impl fmt::Display for ServerList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resource templates",
            Self::Prompts => "prompts",
        })
    }
}
