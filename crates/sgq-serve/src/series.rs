//! What is drawn against queries: what remains, who was asked, and where the point was. As many points as a picture has room for.

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::{
    book::Outcome,
    head::dim,
    live::{Live, State},
    routes::{Query, Wrong, bad, unreadable},
};

/// So many points a curve has at most, so many a picture of who was asked, and so many the way of a coordinate.
const CURVE: usize = 1500;
const ASKED: usize = 5000;
const PATH: usize = 400;
/// So many coordinates are told at a time.
const COORDINATES: usize = 64;

/// At most so many of them, evenly, the last one among them.
fn thinned(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let shown = count.min(most);
    (1..=shown).map(move |place| (place * count).div_ceil(shown.max(1)) - 1)
}

/// A picture shows seven digits at most.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.6e}").parse().unwrap_or(value)
}

/// `/api/s/ID/curve?from=N`.
pub fn curve(live: &Live, query: &Query) -> Result<Value, Wrong> {
    let from = query.number("from").map_err(bad)?.unwrap_or(0) as usize;
    let state = live.state();
    let State { follower: Some(_), book, history, .. } = &*state else {
        drop(state);
        return Err(unreadable(live));
    };
    let first = from.saturating_sub(1).min(book.paid.len());
    let paid = &book.paid[first..];
    let shown: Vec<usize> = match from {
        0 => thinned(paid.len(), CURVE).collect(),
        _ => (0..paid.len()).collect(),
    };
    let parts: Vec<Option<[f64; 3]>> = shown.iter().map(|place| history.at(paid[*place].seq)).collect();
    let part = |which: usize| parts.iter().map(|part| part.map(|part| rounded(part[which]))).collect::<Vec<_>>();
    let of =
        |value: fn(&crate::book::Paid) -> Value| shown.iter().map(|place| value(&paid[*place])).collect::<Vec<_>>();
    Ok(json!({
        "n": shown.iter().map(|place| first + place + 1).collect::<Vec<_>>(),
        "at": of(|paid| paid.at.into()),
        "cost": of(|paid| rounded(paid.cost).into()),
        "numbers": of(|paid| paid.numbers.into()),
        "part": part(0),
        "low": part(1),
        "high": part(2),
    }))
}

/// `/api/s/ID/asked?from=N`.
pub fn asked(live: &Live, query: &Query) -> Result<Value, Wrong> {
    let from = query.number("from").map_err(bad)?.unwrap_or(0);
    let state = live.state();
    let State { follower: Some(_), book, .. } = &*state else {
        drop(state);
        return Err(unreadable(live));
    };
    let first = book.asked.partition_point(|asked| asked.ticket < from);
    let asked = &book.asked[first..];
    let shown: Vec<&crate::book::Asked> = thinned(asked.len(), ASKED).map(|place| &asked[place]).collect();
    Ok(json!({
        "n": shown.iter().map(|it| it.ticket).collect::<Vec<_>>(),
        "user": shown.iter().map(|it| it.user).collect::<Vec<_>>(),
        "kind": shown.iter().map(|it| it.outcome as u8).collect::<Vec<_>>(),
        "kinds": Outcome::WORDS,
    }))
}

/// `/api/s/ID/path?coordinates=0,1,…`.
pub fn path(live: &Live, query: &Query) -> Result<Value, Wrong> {
    let state = live.state();
    let State { follower: Some(follower), book, .. } = &*state else {
        drop(state);
        return Err(unreadable(live));
    };
    let dim = dim(follower);
    let wanted = query.get("coordinates").unwrap_or("0").split(',').take(COORDINATES);
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|place| *place < dim);
    if dim == 0 {
        return Err(bad("there are no coordinates yet: not everybody has answered the first question"));
    }
    let wrong = || bad(format!("coordinates must be numbers from 0 to {} with commas between", dim.saturating_sub(1)));
    let wanted: Vec<usize> = wanted.map(number).collect::<Option<_>>().ok_or_else(wrong)?;
    // Questions at another point than the current one are not part of the way.
    let on_way: Vec<_> = book.asked.iter().filter(|asked| asked.why != Some(sgq::Why::Elsewhere)).collect();
    let shown: Vec<_> = thinned(on_way.len(), PATH).map(|place| on_way[place]).collect();
    let tickets: Vec<u64> = shown.iter().map(|asked| asked.ticket).collect();
    // A model's own scale mixes coordinates: the intercept has all of them.
    let encoding = follower.encoding();
    let read: Vec<usize> = if encoding.is_some() { (0..dim).collect() } else { wanted.clone() };
    let points = follower.points(&tickets, &read);
    let points = points.map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
    let here: Vec<f64> = read.iter().map(|place| follower.session().point()[*place]).collect();
    let all = shown.iter().map(|asked| u64::from(asked.queries)).zip(points).chain([(follower.queries(), Some(here))]);
    let (mut n, mut values) = (Vec::new(), vec![Vec::new(); wanted.len()]);
    for (queries, point) in all {
        let Some(point) = point else { continue };
        let point = match encoding {
            Some(encoding) => {
                let Ok(original) = encoding.on_original_scale(&point) else { continue };
                wanted.iter().map(|place| original[*place]).collect()
            }
            None => point,
        };
        n.push(queries);
        values.iter_mut().zip(point).for_each(|(values, value)| values.push(rounded(value)));
    }
    Ok(json!({ "n": n, "values": values }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_is_always_shown() {
        for (count, most) in [(0, 5), (1, 5), (5, 5), (6, 5), (10_000, 1500), (1501, 1500)] {
            let shown: Vec<usize> = thinned(count, most).collect();
            assert_eq!(shown.len(), count.min(most));
            assert!(shown.windows(2).all(|two| two[0] < two[1]));
            assert_eq!(shown.last().copied(), count.checked_sub(1));
        }
    }

    #[test]
    fn rounding_keeps_seven_digits() {
        assert_eq!(rounded(0.123_456_789_12), 0.123_456_8);
        assert_eq!(rounded(-1e-300), -1e-300);
        assert!(rounded(f64::NAN).is_nan());
    }
}
