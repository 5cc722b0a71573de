//! Which family, where nobody says.

use super::Family;
use crate::{
    Dataset, InFile, Target,
    csv::{CsvError, Options},
};

/// A family, and why it was taken where nobody said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChosenFamily {
    /// The family.
    pub family: Family,
    /// Why it was taken; none where somebody said.
    pub because: Option<&'static str>,
}

impl ChosenFamily {
    /// Reads data for a family, or without one for the family that the target's levels tell: binomial where there are two, else
    /// gaussian. `options` are those of any family; `read` takes those of one.
    pub fn read(
        family: Option<Family>,
        options: &Options,
        read: impl Fn(&Options) -> Result<Dataset, InFile<CsvError>>,
    ) -> Result<(Dataset, Self), InFile<CsvError>> {
        let read = |family: Family| read(&Options { loss: family.into(), ..options.clone() });
        let chosen = |family, because| move |data: Dataset| (data, Self { family, because });
        if let Some(family) = family {
            return read(family).map(chosen(family, None));
        }
        match read(Family::Binomial) {
            Err(InFile { error: CsvError::Classes { .. }, .. }) => {
                let because = Some("the target has more than two values");
                read(Family::Gaussian).map(chosen(Family::Gaussian, because))
            }
            other => other.map(chosen(Family::Binomial, Some("the target has two levels"))),
        }
    }

    /// The family in words, and what is predicted; `remedy` says how to have another one.
    pub fn in_words(&self, target: &Target, remedy: &str) -> String {
        let because = self.because.map(|because| format!(": {because}; {remedy}")).unwrap_or_default();
        let predicts = match target {
            Target::Levels { positive, .. } => format!("; the probability of {positive:?}"),
            _ => String::new(),
        };
        format!("{}{because}{predicts}", self.family)
    }
}
