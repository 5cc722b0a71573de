//! What can be wrong with a LIBSVM file.

use thiserror::Error;

use super::UsersError;
use crate::ReadError;

/// Why a LIBSVM file did not become a dataset.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum LibsvmError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the file has no rows: each line is `label index:value index:value …`")]
    Empty,
    #[error("no row has a feature: each line is `label index:value index:value …`")]
    NoFeatures,
    #[error("line {line}: the label is {text:?}, which is not a finite number")]
    Label { line: usize, text: String },
    #[error("line {line}: {text:?} is not `index:value`: the line is malformed, or cut off")]
    Pair { line: usize, text: String },
    #[error("line {line}: the index of {text:?} is not a whole number up to {largest}")]
    Index { line: usize, text: String, largest: u32 },
    #[error("line {line}: the value of {text:?} is not a finite number: the line is malformed, or cut off")]
    Value { line: usize, text: String },
    #[error("line {line}: the index {index} comes after {before}: indices must rise within a line")]
    Order { line: usize, before: u32, index: u32 },
    #[error(
        "line {line}: there is no `qid:N` after the label: give it in every line, or say in another way who the users are"
    )]
    NoQid { line: usize },
    #[error("line {line}: {text:?} is not `qid:N` with a whole number N")]
    Qid { line: usize, text: String },
    #[error("a logistic loss needs two different labels, and every one is {label}")]
    OneLabel { label: f64 },
    #[error("a logistic loss needs two different labels, and there are more: {}, {}, {}", .labels[0], .labels[1], .labels[2])]
    Labels { labels: [f64; 3] },
    #[error("a label is {label}: a count is not negative")]
    NegativeCount { label: f64 },
    #[error(transparent)]
    Users(#[from] UsersError),
}
