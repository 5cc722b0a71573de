//! A line for each user, sorted and searched here: a browser need not hold a hundred thousand.

use std::cmp::Ordering;

use serde_json::{Value, json};
use sgq::belief::Model;
use sgq_ledger::Follower;

use crate::{
    book::{Book, OfUser},
    live::{Live, State},
    routes::{Query, Wrong, bad, unreadable},
};

/// So many lines at a time.
const MOST: u64 = 1000;
const USUAL: u64 = 100;

/// What a table can be sorted by.
const COLUMNS: [&str; 18] = [
    "user",
    "name",
    "asked",
    "answered",
    "last_asked",
    "last_at",
    "cost",
    "weight",
    "size",
    "tell",
    "stale",
    "out",
    "state",
    "failures",
    "refused",
    "flagged",
    "numbers",
    "epsilon",
];

/// All that lines are made of.
struct Table<'a> {
    follower: &'a Follower,
    book: &'a Book,
    /// What asking each user would tell; not a number where the method does not say.
    tell: &'a [f64],
    /// Whether a question is out to each.
    is_out: &'a [bool],
}

/// `/api/s/ID/users?sort=&desc=&search=&from=&count=`.
pub fn users(live: &Live, query: &Query) -> Result<Value, Wrong> {
    let from = query.number("from").map_err(bad)?.unwrap_or(0);
    let count = query.number("count").map_err(bad)?.unwrap_or(USUAL).min(MOST);
    let sort = query.get("sort");
    if let Some(sort) = sort.filter(|sort| !COLUMNS.contains(sort)) {
        return Err(bad(format!("users cannot be sorted by {sort:?}: by {}", COLUMNS.join(", "))));
    }
    let mut state = live.state();
    let scores = state.scores();
    let State { follower: Some(follower), book, .. } = &*state else {
        drop(state);
        return Err(unreadable(live));
    };
    let users = follower.users();
    let mut tell = vec![f64::NAN; users.len()];
    for scored in scores.iter().flat_map(|scores| &scores.users) {
        if let Some(tell) = tell.get_mut(scored.user) {
            *tell = scored.score;
        }
    }
    let mut is_out = vec![false; users.len()];
    follower.session().pending().for_each(|query| is_out[query.user] = true);
    let table = Table { follower, book, tell: &tell, is_out: &is_out };
    let mut order: Vec<usize> = match query.get("search").map(str::to_lowercase) {
        None => (0..users.len()).collect(),
        Some(sought) => (0..users.len()).filter(|user| users[*user].name.to_lowercase().contains(&sought)).collect(),
    };
    table.sort(&mut order, sort.unwrap_or("user"), query.is_true("desc"));
    let shown = order.iter().skip(from as usize).take(count as usize);
    Ok(json!({ "total": order.len(), "rows": shown.map(|user| table.row(*user)).collect::<Vec<_>>() }))
}

impl Table<'_> {
    fn of(&self, user: usize) -> &OfUser {
        &self.book.users[user]
    }

    /// Whoever has no value comes last, whichever way round; equals stay in the order of users.
    fn sort(&self, order: &mut [usize], column: &str, desc: bool) {
        if matches!(column, "name" | "state") {
            let text = |user: usize| match column {
                "name" => &*self.follower.users()[user].name,
                _ => self.state(user),
            };
            order.sort_by(|one, other| text(*one).cmp(text(*other)));
            if desc {
                order.reverse();
            }
            return;
        }
        let mut keyed: Vec<(f64, usize)> =
            order.iter().map(|user| (self.number(*user, column).unwrap_or(f64::NAN), *user)).collect();
        keyed.sort_by(|one, other| match (one.0.is_nan(), other.0.is_nan()) {
            (false, false) if desc => other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)),
            (false, false) => one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)),
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (true, true) => one.1.cmp(&other.1),
        });
        order.iter_mut().zip(keyed).for_each(|(place, (_, user))| *place = user);
    }

    fn number(&self, user: usize, column: &str) -> Option<f64> {
        let of = self.of(user);
        let account = &self.follower.accounts()[user];
        match column {
            "asked" => Some(of.asked.into()),
            "answered" => Some(account.answers as f64),
            "last_asked" => of.last_asked.map(f64::from),
            "last_at" => of.last_at.map(|at| at as f64),
            "cost" => Some(of.cost),
            "weight" => Some(self.follower.session().weight_of(user)),
            "size" => self.size(user),
            "tell" => Some(self.tell[user]).filter(|tell| !tell.is_nan()),
            "stale" => self.stale(user).map(|stale| stale as f64),
            "out" => Some(f64::from(u8::from(self.is_out[user]))),
            "failures" => Some(of.failures.into()),
            "refused" => Some(of.refused.into()),
            "flagged" => Some(of.flagged.into()),
            "numbers" => Some(account.numbers as f64),
            "epsilon" => self.epsilon(user),
            _ => Some(user as f64),
        }
    }

    /// How large its gradients are beside those of others, as a model has it; else its `L_i`, where that is known.
    fn size(&self, user: usize) -> Option<f64> {
        let model: Option<&Model> = self.follower.session().belief();
        model.map(|model| model.size(user)).or(self.follower.users()[user].smoothness)
    }

    /// Queries of others since it was asked.
    fn stale(&self, user: usize) -> Option<u64> {
        Some((self.book.paid.len() as u64).saturating_sub(self.of(user).last_asked?.into()))
    }

    /// What it has disclosed, where all its answers had noise.
    fn epsilon(&self, user: usize) -> Option<f64> {
        let account = &self.follower.accounts()[user];
        let has_noise = account.answers > 0 && account.bare == 0;
        has_noise.then(|| account.epsilon(self.follower.protection().delta)).filter(|it| it.is_finite())
    }

    fn state(&self, user: usize) -> &'static str {
        let session = self.follower.session();
        match () {
            () if session.has_left(user) => "left",
            () if self.follower.spent(user).is_some() => "spent",
            () if session.is_away(user) => "away",
            () if self.is_out[user] => "out",
            () if self.of(user).failures_in_a_row > 0 => "failing",
            () => "free",
        }
    }

    fn row(&self, user: usize) -> Value {
        let of = self.of(user);
        let account = &self.follower.accounts()[user];
        json!({
            "user": user,
            "name": self.follower.users()[user].name,
            "asked": of.asked,
            "answered": account.answers,
            "last_asked": of.last_asked,
            "last_at": of.last_at,
            "cost": of.cost,
            "weight": self.follower.session().weight_of(user),
            "size": self.size(user),
            "tell": self.number(user, "tell"),
            "stale": self.stale(user),
            "out": self.is_out[user],
            "state": self.state(user),
            "words": self.follower.spent(user).or_else(|| of.reason.as_deref().map(ToOwned::to_owned)),
            "failures": of.failures,
            "refused": of.refused,
            "flagged": of.flagged,
            "numbers": account.numbers,
            "epsilon": self.epsilon(user),
        })
    }
}
