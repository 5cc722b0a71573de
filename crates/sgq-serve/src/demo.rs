//! A session to look at.
