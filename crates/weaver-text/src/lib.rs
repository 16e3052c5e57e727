//! Pure text functions for Weaver: normalisation, identifier splitting, stemming, globs and token counters.
