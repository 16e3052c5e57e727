//! Results of other methods: replayed with the same protocol on all four suites, or as published.

/// A row: name, security over 929 pairs, security over the 609 recorded ones, autonomy, and holds
/// among 339 calls.
pub const REFERENCE: [(&str, f64, f64, f64, u32); 6] = [
    ("no policy", 0.0, 0.0, 1.00, 0),
    ("oracle: the task's own tools", 0.907, 0.860, 1.00, 0),
    ("hold every sink", 1.00, 1.00, 0.371, 100),
    ("hold sinks after taint (FIDES P-T)", 1.00, 1.00, 0.381, 94),
    ("values in prompt or trusted output", 0.969, 0.952, 0.577, 56),
    ("critical values in the user's words", 0.974, 0.961, 0.546, 59),
];

/// Published claims, measured with a model in the loop or on other data, so they cannot be compared
/// directly.
pub const CLAIMS: [&str; 4] = [
    "CaMeL (arXiv 2503.18813): 77 % of tasks solved with guarantees, 84 % undefended",
    "Progent (arXiv 2504.11703): attack success 41.2 % to 2.2 %",
    "AgentDojo's tool filter (arXiv 2406.13352): attack success 7.5 %",
    "agent-airlock 0.8.43: 84.4 % of 384 attacks blocked (replay)",
];
