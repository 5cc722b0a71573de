//! LIBSVM files: `label [qid:N] index:value …`, only the values that are not zero.

mod error;
mod parse;
mod users;

use std::{
    io::{BufRead as _, Read},
    path::Path,
};

use sgq::problem::{Loss, Rows};

use crate::{
    Dataset, InFile, ReadError, Scaling, Target,
    file::{unpack, with_file},
    grouping::Grouping,
};
use parse::Parsed;

pub use error::LibsvmError;
pub use users::{Users, UsersError};

/// How a file is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which rows belong to whom.
    pub users: Users,
    /// The loss, which says what the labels are: two levels for the logistic one, numbers otherwise. None to tell it from
    /// them: logistic where there are two different labels, squares otherwise.
    pub loss: Option<Loss>,
    /// Puts a column of ones first.
    pub intercept: bool,
}

impl Options {
    /// The labels tell the loss; with an intercept.
    pub fn new(users: Users) -> Self {
        Self { users, loss: None, intercept: true }
    }
}

/// Reads a file, plain or gzip.
pub fn read(path: impl AsRef<Path>, options: &Options) -> Result<Dataset, InFile<LibsvmError>> {
    with_file(path.as_ref(), |file| from_reader(file, options))
}

/// Reads the same from anywhere, to its end.
///
/// ```
/// use sgq::problem::Loss;
/// use sgq_data::libsvm::{Options, Users, from_reader};
///
/// let text = "+1 1:0.5 3:2\n-1 2:1\n+1 1:1.5\n-1 3:4 # a comment\n";
/// let data = from_reader(text.as_bytes(), &Options::new(Users::Blocks(2)))?;
/// assert_eq!(data.blocks, [0, 2, 4]);
/// assert_eq!(data.column_names, ["intercept", "1", "2", "3"]);
/// let problem = data.regression(Loss::Logistic, 0.01)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_reader(reader: impl Read, options: &Options) -> Result<Dataset, LibsvmError> {
    let parsed = Parsed::read(reader, options.users == Users::Qid)?;
    let grouping = users::group(&options.users, &parsed)?;
    let (targets, target) = encode_labels(&parsed.labels, options.loss)?;
    let rows_total = targets.len();
    let (rows, column_names) = parsed.into_rows(&grouping, options.intercept);
    Ok(Dataset {
        rows,
        targets: grouping.arranged(&targets),
        weights: vec![1.0; rows_total],
        offsets: None,
        blocks: grouping.blocks,
        user_names: grouping.names,
        column_names,
        target,
        encoding: None,
        dropped_rows: 0,
        missing_by_column: Vec::new(),
        rows_total,
    })
}

/// Reads one user's name a line, for [`Users::Names`]; plain or gzip. Blanks around a name do not count, and neither do
/// empty lines at the end.
pub fn read_names(path: impl AsRef<Path>) -> Result<Vec<String>, InFile<ReadError>> {
    with_file(path.as_ref(), |file| {
        let mut names = Vec::new();
        for line in unpack(file)?.split(b'\n') {
            let line = line?;
            let text = str::from_utf8(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line));
            let text = text.map_err(|_| ReadError::NotUtf8 { line: names.len() + 1 })?;
            names.push(text.trim().to_owned());
        }
        while names.last().is_some_and(String::is_empty) {
            names.pop();
        }
        Ok(names)
    })
}

/// The targets that the regression sees, and what they mean. Of two labels the larger is 1.
fn encode_labels(labels: &[f64], loss: Option<Loss>) -> Result<(Vec<f64>, Target), LibsvmError> {
    let smallest = labels.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = labels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let other = labels.iter().find(|label| **label != smallest && **label != largest);
    match (loss, other) {
        (Some(Loss::Logistic) | None, None) if smallest < largest => {
            let targets = labels.iter().map(|label| if *label == largest { 1.0 } else { -1.0 }).collect();
            Ok((targets, Target::Levels { negative: smallest.to_string(), positive: largest.to_string() }))
        }
        (Some(Loss::Logistic), None) => Err(LibsvmError::OneLabel { label: smallest }),
        (Some(Loss::Logistic), Some(other)) => Err(LibsvmError::Labels { labels: [smallest, *other, largest] }),
        (Some(Loss::Poisson), _) if smallest < 0.0 => Err(LibsvmError::NegativeCount { label: smallest }),
        (Some(Loss::Poisson), _) => Ok((labels.to_vec(), Target::Count)),
        _ => Ok((labels.to_vec(), Target::Number(Scaling::NONE))),
    }
}

impl Parsed {
    /// The rows in the new order, and the names of their columns: the indices in the file.
    fn into_rows(self, grouping: &Grouping, intercept: bool) -> (Rows, Vec<String>) {
        // Indices count from 1, unless there is a 0.
        let first = u32::from(!self.has_zero);
        let shift = u32::from(intercept);
        let features = self.largest.map_or(0, |largest| largest + 1 - first);
        let mut starts = Vec::with_capacity(self.starts.len());
        let extra = if intercept { grouping.order.len() } else { 0 };
        let mut columns = Vec::with_capacity(self.indices.len() + extra);
        let mut values = Vec::with_capacity(self.values.len() + extra);
        starts.push(0);
        for row in &grouping.order {
            if intercept {
                columns.push(0);
                values.push(1.0);
            }
            let range = self.starts[*row]..self.starts[row + 1];
            columns.extend(self.indices[range.clone()].iter().map(|index| index - first + shift));
            values.extend_from_slice(&self.values[range]);
            starts.push(columns.len());
        }
        let mut names: Vec<String> = (0..features).map(|feature| (feature + first).to_string()).collect();
        if intercept {
            names.insert(0, "intercept".to_owned());
        }
        (Rows::Sparse { dim: names.len(), starts, columns, values }, names)
    }
}
