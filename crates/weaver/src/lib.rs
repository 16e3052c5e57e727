//! The Weaver crates behind one name, each behind a feature.
