//! Saving a session and going on later, as if nothing had happened.

use thiserror::Error;

use super::{
    Session, Sight, State,
    open::{check_needs, check_sight},
};
use crate::{Method, SettingsError, random::Fingerprint};

/// The last byte is another one whenever the layout of any part changes.
const MAGIC: &[u8; 4] = b"sgq\x0b";
const HEADER: usize = MAGIC.len() + 8;

impl<'s> Session<'s> {
    /// The whole state, randomness and open question included, as bytes to store.
    ///
    /// A session [restored](Session::restore) from them goes on bit for bit as this one would.
    ///
    /// ```
    /// # use sgq::{Session, Settings, Sight, method};
    /// # let settings = Settings::new(vec![5.0], 2).step_size(0.1).budget(9);
    /// let mut session = Session::new(method::saga(), settings)?;
    /// let bytes = session.snapshot()?;
    /// let mut later = Session::restore(method::saga(), &bytes, Sight::Blind)?;
    /// assert_eq!(later.ask()?, session.ask()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// They are made in memory, and are about as large as the method's table, also where that is in a file. They grow by some ten
    /// bytes with each query: an answer told twice is recognised for ever. Only a part of one's own
    /// that cannot be serialised makes this fail.
    pub fn snapshot(&self) -> Result<Vec<u8>, SnapshotError> {
        // The header is filled in at the end: a second copy of the body could be gigabytes.
        let mut header = MAGIC.to_vec();
        header.resize(HEADER, 0);
        let bytes = postcard::to_extend(&self.state, header).map_err(|error| SnapshotError(error.to_string()))?;
        let mut bytes = self.parts.save(bytes).map_err(SnapshotError)?;
        let checksum = checksum(&bytes[HEADER..]).to_le_bytes();
        bytes[MAGIC.len()..HEADER].copy_from_slice(&checksum);
        Ok(bytes)
    }

    /// Goes on from a [snapshot](Session::snapshot) of a session of the same method.
    ///
    /// All settings come from the snapshot, those of the method's parts included: the method given here only names them. So
    /// does the storage: a table that was in a file will be in a new one, in the same folder.
    pub fn restore(method: Method, bytes: &[u8], sight: Sight<'s>) -> Result<Self, RestoreError> {
        if bytes.get(..MAGIC.len()) != Some(MAGIC) {
            return Err(RestoreError::NotASnapshot);
        }
        let (header, body) = bytes.split_at_checked(HEADER).ok_or(RestoreError::Damaged)?;
        if header[MAGIC.len()..] != checksum(body).to_le_bytes() {
            return Err(RestoreError::Damaged);
        }
        let (name, mut parts) = method.into_parts();
        let mismatch = || RestoreError::OtherMethod { wanted: name.clone() };
        let (state, rest) = postcard::take_from_bytes::<State>(body).map_err(|_| mismatch())?;
        if (&state.name, &state.part_types) != (&name, &parts.type_names()) {
            return Err(mismatch());
        }
        parts.load(rest).ok_or_else(mismatch)?;
        parts.belief().restored()?;
        check_sight(&sight, state.users(), state.point.len())?;
        check_needs(&name, parts.facts().needs, &sight, state.answers)?;
        if state.stop_rules.has_target_gap() && sight.gap(&state.point).is_none() {
            return Err(SettingsError::NeedsOptimum.into());
        }
        Ok(Self::from_parts(parts, state, sight))
    }
}

fn checksum(body: &[u8]) -> u64 {
    let mut checksum = Fingerprint::default();
    checksum.add(body.len() as u64);
    for chunk in body.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        checksum.add(u64::from_le_bytes(word));
    }
    checksum.finish()
}

/// A part of the method could not be serialised.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a part of the method cannot be saved: {0}; give it plain fields")]
pub struct SnapshotError(String);

/// Why a session could not be restored.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum RestoreError {
    #[error(
        "these bytes are not a snapshot of this version of sgq: open a session on the answers themselves, with \
         `Session::with_answers`"
    )]
    NotASnapshot,
    #[error("the snapshot is damaged or cut short: restore an older one")]
    Damaged,
    #[error("the snapshot was not made by the method {wanted:?}: restore it with the method that made it")]
    OtherMethod { wanted: String },
    #[error(transparent)]
    Settings(#[from] SettingsError),
}
