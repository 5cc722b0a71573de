//! Whom to ask next.
