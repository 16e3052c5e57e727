//! The settings of a kernel.

use std::time::Duration;

use weaver_firewall::handle::HandleBudget;
use weaver_firewall::{FrameBudget, SessionBudget};
use weaver_types::{ResponseMode, Tenant};

use crate::repair::Repairs;

/// The settings of a kernel.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The tenant whose calls it handles.
    pub tenant: Tenant,
    /// The audience of its tokens; tokens for another audience are refused.
    pub audience: String,
    /// How long a token is valid.
    pub token_ttl: Duration,
    /// Whether a person can be asked through this host. If not, a call that only a person could
    /// correct is held.
    pub human_channel: bool,
    /// The budget of a frame; constraints only tighten it.
    pub frame_budget: FrameBudget,
    /// The mode in which expansions of stored results are shown, unless it has to be stricter: rows
    /// of a table by default, or `auto`, each part in its own form.
    pub view_mode: ResponseMode,
    /// The token budget of all frames of one run; `None` for no limit. The run's own cap
    /// `max_prompt_tokens` counts the same tokens, so the lower of the two is reached first.
    pub session: Option<SessionBudget>,
    /// Whether masks number the values of a run, as in `[EMAIL_1]`, so that a model can tell them
    /// apart, and whether such a mask in arguments is replaced by its value; on by default.
    /// Otherwise each mask is `[REDACTED]`, which stands for nothing. After a restart a run knows
    /// none of its earlier masks, and does not reuse their numbers.
    pub placeholders: bool,
    /// How much is stored behind handles, and for how long.
    pub handles: HandleBudget,
    /// Which repairs of arguments are allowed; none by default.
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
