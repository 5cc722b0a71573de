//! Which rows belong to whom.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use sgq::Random;
use thiserror::Error;

use super::Parsed;
use crate::{grouping::Grouping, names::Interner};

/// A label-skewed split wants classes: more different labels than this are numbers.
const MOST_CLASSES: usize = 100;

/// Which rows belong to whom. Rows keep their order within a user.
#[derive(Clone, Debug, PartialEq)]
pub enum Users {
    /// The number after `qid:` says it.
    Qid,
    /// A name for each row, such as [`read_names`](super::read_names) reads.
    Names(Vec<String>),
    /// So many users, each with rows that follow one another, as equally many as can be.
    Blocks(usize),
    /// Every row is a user.
    EachRow,
    /// A random split in which users differ in their labels. Of every label each user has a share, the shares are
    /// Dirichlet-distributed with this concentration, and every row goes to a user by them. Below 1 most rows of a label
    /// are with few users; far above 1 all users are alike. A user left empty is given a row of whoever has most.
    Dirichlet {
        /// How many.
        users: usize,
        /// The concentration; positive.
        concentration: f64,
        /// The same seed gives the same split.
        seed: u64,
    },
}

/// Why rows could not be given to users.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum UsersError {
    #[error("{users} users cannot share {rows} rows: give at least one user, and at most one for each row")]
    Count { users: usize, rows: usize },
    #[error("{names} users' names, but {rows} rows: give one name for each row")]
    Names { names: usize, rows: usize },
    #[error("the user's name on line {line} is empty")]
    EmptyName { line: usize },
    #[error("the concentration is {0}: it must be positive")]
    Concentration(f64),
    #[error("a Dirichlet split needs classes, and there are more than {limit} different labels: split in another way")]
    TooManyLabels { limit: usize },
}

pub(super) fn group(users: &Users, parsed: &Parsed) -> Result<Grouping, UsersError> {
    let rows = parsed.labels.len();
    let check_count = |users: usize| {
        if (1..=rows).contains(&users) { Ok(()) } else { Err(UsersError::Count { users, rows }) }
    };
    let numbered = |users: usize| (0..users).map(|user| user.to_string()).collect::<Vec<_>>();
    match users {
        Users::Qid => Ok(by_text(parsed.qids.iter().map(u64::to_string))),
        Users::Names(names) => {
            if names.len() != rows {
                return Err(UsersError::Names { names: names.len(), rows });
            }
            if let Some(row) = names.iter().position(String::is_empty) {
                return Err(UsersError::EmptyName { line: row + 1 });
            }
            Ok(by_text(names.iter().cloned()))
        }
        Users::Blocks(users) => {
            check_count(*users)?;
            let (least, larger) = (rows / users, rows % users);
            let blocks = (0..=*users).map(|user| user * least + user.min(larger)).collect();
            Ok(Grouping { order: (0..rows).collect(), blocks, names: numbered(*users) })
        }
        Users::EachRow => {
            Ok(Grouping { order: (0..rows).collect(), blocks: (0..=rows).collect(), names: numbered(rows) })
        }
        Users::Dirichlet { users, concentration, seed } => {
            check_count(*users)?;
            if !(*concentration > 0.0 && concentration.is_finite()) {
                return Err(UsersError::Concentration(*concentration));
            }
            let mut owners = urns(&parsed.labels, *users, *concentration, *seed)?;
            fill_empty(&mut owners, *users);
            Ok(Grouping::by_rank(&owners, numbered(*users)))
        }
    }
}

fn by_text(names: impl Iterator<Item = String>) -> Grouping {
    let mut interner = Interner::default();
    let codes: Vec<u32> = names.map(|name| interner.code(&name)).collect();
    Grouping::by_name(&codes, interner.into_names())
}

/// Each row's user, by a Pólya urn for each label: the next row goes to user `j` with probability
/// `(α + rows of the label that j has) / (α · users + rows of the label so far)`.
///
/// That is the law of independent draws from shares that are `Dirichlet(α, …, α)`, without drawing the shares. So there
/// are no Gamma variables, which underflow for a small `α`, and no logarithms, which round differently elsewhere.
fn urns(labels: &[f64], users: usize, concentration: f64, seed: u64) -> Result<Vec<usize>, UsersError> {
    let mut random = Random::new(seed, "dirichlet");
    let mut urns: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut owners = Vec::with_capacity(labels.len());
    let fresh = concentration * users as f64;
    for label in labels {
        // Minus zero is zero.
        let urn = urns.entry((label + 0.0).to_bits()).or_default();
        let drawn = urn.len() as f64;
        let owner = if random.unit() * (fresh + drawn) < fresh || urn.is_empty() {
            random.index(users)
        } else {
            urn[random.index(urn.len())]
        };
        urn.push(owner);
        owners.push(owner);
        if urns.len() > MOST_CLASSES {
            return Err(UsersError::TooManyLabels { limit: MOST_CLASSES });
        }
    }
    Ok(owners)
}

/// Gives every user without rows the last row of the one with most, of equals the first.
fn fill_empty(owners: &mut [usize], users: usize) {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); users];
    for (row, owner) in owners.iter().enumerate() {
        rows[*owner].push(row);
    }
    // The largest first, and of equals the lower number.
    let mut largest: BinaryHeap<(usize, Reverse<usize>)> =
        rows.iter().enumerate().map(|(user, rows)| (rows.len(), Reverse(user))).collect();
    for user in 0..users {
        if !rows[user].is_empty() {
            continue;
        }
        // There are at least as many rows as users: while somebody has none, somebody has two.
        let Some((_, Reverse(rich))) = largest.pop() else {
            return;
        };
        if let Some(row) = rows[rich].pop() {
            owners[row] = user;
            rows[user].push(row);
        }
        largest.push((rows[rich].len(), Reverse(rich)));
    }
}
