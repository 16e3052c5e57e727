//! Capabilities, tokens and the pipeline through which every tool call passes.
