//! Shows a model the few tools that fit, and compiles its context within a budget.
