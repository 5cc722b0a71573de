//! What belief, choice and update have in common: their state can be copied, saved and restored.

use std::{
    any::{Any, type_name},
    fmt::Debug,
};

use dyn_clone::DynClone;
use serde::{Serialize, de::DeserializeOwned};

/// A part of a method. Any type that derives `Clone`, `Debug` and serde's two traits is a `Part`.
pub trait Part: DynClone + Debug + Any + Send + Sync {
    /// Appends the whole state to `bytes`.
    fn save(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String>;

    /// Takes the state from the front of `bytes`, and returns what follows it; `None` where the bytes are not its state.
    fn load<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]>;

    /// The type's name without its path, which may change from one compiler to the next.
    fn type_name(&self) -> String;
}

impl<T: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static> Part for T {
    fn save(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        postcard::to_extend(self, bytes).map_err(|error| error.to_string())
    }

    fn load<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (state, rest) = postcard::take_from_bytes(bytes).ok()?;
        *self = state;
        Some(rest)
    }

    fn type_name(&self) -> String {
        let words = type_name::<T>().split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        words.map(|word| word.rsplit("::").next().unwrap_or(word)).collect()
    }
}
