//! A fitted model, as `sgq fit` writes it and `sgq predict` reads it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Family;
use crate::{Encoding, first_few};

/// The number of the format; it changes when older versions could misread it.
pub const FORMAT: u32 = 2;

/// Everything that a prediction needs, and what it is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Model {
    /// The number of the format, [`MODEL_FORMAT`](super::MODEL_FORMAT).
    pub format: u32,
    /// The version of sgq that wrote it.
    pub version: String,
    /// Whether somebody stopped the fit before it was done.
    pub interrupted: bool,
    /// Whether the fit diverged; the report that it is part of says so.
    #[serde(default, skip_serializing)]
    pub diverged: bool,
    /// The column that says whose row it is.
    pub user: String,
    /// What is predicted.
    pub target: String,
    /// What is predicted, and from what.
    pub formula: String,
    /// The family.
    pub family: Family,
    /// The penalty it was fitted with.
    pub l2: f64,
    /// The coefficients of the columns as the regression sees them. Those of the columns as they are stand beside it.
    pub standardised: Vec<f64>,
    /// How the columns became those that the regression sees.
    pub encoding: Encoding,
}

/// What every format says of itself.
#[derive(Deserialize)]
struct Header {
    format: u32,
    version: String,
}

impl Model {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let bytes = fs::read(path).map_err(|cause| ModelError::Unreadable { path: path.to_owned(), cause })?;
        Self::from_json(&bytes, path)
    }

    /// The model in the text of a file.
    pub fn from_json(bytes: &[u8], path: &Path) -> Result<Self, ModelError> {
        let at = || path.to_owned();
        let damaged = |cause: serde_json::Error| ModelError::Damaged { path: at(), what: cause.to_string() };
        let value: serde_json::Value = serde_json::from_slice(bytes).map_err(damaged)?;
        let header = Header::deserialize(&value).map_err(|_| ModelError::NoModel { path: at() })?;
        if header.format != FORMAT {
            let Header { format, version } = header;
            return Err(ModelError::OtherFormat { path: at(), format, version });
        }
        let model: Self = serde_json::from_value(value).map_err(damaged)?;
        match model.objection() {
            Some(what) => Err(ModelError::Damaged { path: at(), what }),
            None => Ok(model),
        }
    }

    /// What does not fit together, in a file that could be read. The encoding has looked at itself already.
    fn objection(&self) -> Option<String> {
        let (found, names) = (self.standardised.len(), self.encoding.column_names());
        if found != names.len() {
            return Some(format!("it has {found} coefficients for {} columns, {}", names.len(), first_few(&names)));
        }
        let fits = self.encoding.target().fits(self.family.into());
        (!fits).then(|| format!("its target does not fit the family {}", self.family))
    }
}

/// Why a model could not be read.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum ModelError {
    #[error("cannot read the model {}: {cause}", .path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("{} is not a model of sgq fit: give the model.json that it wrote", .path.display())]
    NoModel { path: PathBuf },
    #[error("the model {} is damaged ({what}): fit it again, or fetch a whole copy", .path.display())]
    Damaged { path: PathBuf, what: String },
    #[error(
        "the model {} has format {format}, written by sgq {version}; this is sgq {}, which reads format {FORMAT}: \
         take that version, or fit it again",
        .path.display(), env!("CARGO_PKG_VERSION")
    )]
    OtherFormat { path: PathBuf, format: u32, version: String },
}
