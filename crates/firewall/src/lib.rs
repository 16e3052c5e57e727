//! Raw tool results in, bounded and redacted frames out.
