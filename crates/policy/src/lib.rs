//! Signed policy documents, one decision, and a floor that no rule can weaken.
