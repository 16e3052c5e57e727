//! What a kernel can be told: bounds, and what it may do by itself.

use std::time::Duration;

use weaver_firewall::handle::HandleBudget;
use weaver_firewall::{FrameBudget, SessionBudget};
use weaver_types::{ResponseMode, Tenant};

use crate::repair::Repairs;

/// What a kernel can be told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whose calls it handles.
    pub tenant: Tenant,
    /// Who accepts its tokens; tokens of another audience are refused.
    pub audience: String,
    /// How long a token lives.
    pub token_ttl: Duration,
    /// Whether a person can be asked through this host. Without one, what only a person could
    /// repair is held.
    pub human_channel: bool,
    /// The bounds of a frame; constraints only tighten them.
    pub frame_budget: FrameBudget,
    /// The mode in which questions about stored results are answered, unless it has to be
    /// stricter: rows of a table by default, or `auto`, each part in its own form.
    pub view_mode: ResponseMode,
    /// The tokens that all frames of one run may come to; `None` counts none. The run's own cap
    /// `max_prompt_tokens` counts the same tokens, so where both are set, the lower one is met
    /// first.
    pub session: Option<SessionBudget>,
    /// Whether masked values are told apart in what a model sees, by a number for each value of a
    /// run, `[EMAIL_1]`, and whether such a mask in arguments stands for its value; by default they
    /// are. Otherwise each is `[REDACTED]`, which stands for nothing. A run that is read again after
    /// a restart knows no mask of before, and gives none of their numbers again.
    pub placeholders: bool,
    /// How much is kept behind handles, and for how long.
    pub handles: HandleBudget,
    /// What of arguments may be repaired before anything is decided; by default nothing.
    pub repairs: Repairs,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tenant: Tenant::default(),
            audience: "weaver".to_owned(),
            token_ttl: Duration::from_secs(3_600),
            human_channel: true,
            frame_budget: FrameBudget::default(),
            view_mode: ResponseMode::Table,
            session: None,
            placeholders: true,
            handles: HandleBudget::default(),
            repairs: Repairs::none(),
        }
    }
}
