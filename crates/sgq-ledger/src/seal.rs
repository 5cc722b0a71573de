//! What makes a change of the record visible: every event is sealed together with all before it.

use sgq::{Detail, Why};

use crate::{Event, Reply, User, event::to_bytes};

/// A BLAKE3 hash.
pub(crate) type Hash = [u8; 32];

/// What belongs to an event beside its own row.
#[derive(Clone, Copy)]
pub(crate) enum Details<'a> {
    Nothing,
    Question { why: Why, wants: Detail, point: &'a [f64] },
    Answer(&'a Reply),
}

/// The BLAKE3 hash of an event, the checksum of what belongs to it, and the seal before it. Every part is preceded by its length, so
/// that nothing can move from one part to the next.
pub(crate) fn seal(before: &[u8], event: &Event, checksum: Option<&Hash>) -> Vec<u8> {
    let mut hash = Sealer(blake3::Hasher::new());
    hash.bytes(before);
    hash.bytes(&event.seq.to_le_bytes());
    hash.bytes(&event.at.to_le_bytes());
    hash.bytes(event.kind.word().as_bytes());
    hash.optional(event.ticket.map(u64::to_le_bytes));
    hash.optional(event.user.map(|user| (user as u64).to_le_bytes()));
    hash.optional(event.words.as_deref());
    hash.optional(event.cost.map(f64::to_le_bytes));
    hash.optional(event.numbers.map(u64::to_le_bytes));
    hash.optional(checksum);
    // Only where it is known, so that the seals of the first layout stay what they are.
    event.about.iter().for_each(|about| hash.bytes(&about.to_le_bytes()));
    hash.0.finalize().as_bytes().to_vec()
}

/// The BLAKE3 hash of a row of questions or of answers, which says by itself that it is what was written: whatever else is lost, an
/// answer and its question can be used.
pub(crate) fn checksum(seq: i64, ticket: u64, user: usize, details: Details<'_>) -> Option<Hash> {
    let mut hash = Sealer(blake3::Hasher::new());
    for number in [seq as u64, ticket, user as u64] {
        hash.bytes(&number.to_le_bytes());
    }
    match details {
        Details::Nothing => return None,
        Details::Question { why, wants, point } => {
            hash.bytes(why.word().as_bytes());
            hash.bytes(wants.to_string().as_bytes());
            hash.numbers(point);
        }
        Details::Answer(reply) => {
            hash.numbers(&reply.gradient);
            for number in [reply.loss, reply.weight, reply.cost] {
                hash.optional(number.map(f64::to_le_bytes));
            }
            let privacy = reply.privacy.map(|privacy| [privacy.sensitivity, privacy.noise]);
            for numbers in
                [reply.hessian.as_deref(), reply.variance.as_deref(), privacy.as_ref().map(<[f64; 2]>::as_slice)]
            {
                match numbers {
                    Some(numbers) => hash.numbers(numbers),
                    None => hash.bytes(&[]),
                }
            }
        }
    }
    Some(hash.0.finalize().into())
}

/// The seal of what stands before the first event. What a later version knows of users is to come after all this, and only where it
/// is known, so that the seals of earlier ones stay what they are.
pub(crate) fn seal_of_facts(texts: [&str; 4], users: &[User], study: Option<&str>) -> Vec<u8> {
    let mut hash = Sealer(blake3::Hasher::new());
    texts.iter().for_each(|text| hash.bytes(text.as_bytes()));
    for User { name, cost, weight, smoothness } in users {
        hash.bytes(name.as_bytes());
        [cost, weight, smoothness].iter().for_each(|number| hash.optional(number.map(f64::to_le_bytes)));
    }
    study.iter().for_each(|study| hash.bytes(study.as_bytes()));
    hash.0.finalize().as_bytes().to_vec()
}

struct Sealer(blake3::Hasher);

impl Sealer {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// One that is there is never taken for one that is not.
    fn optional(&mut self, bytes: Option<impl AsRef<[u8]>>) {
        match bytes {
            Some(bytes) => {
                self.0.update(&[1]);
                self.bytes(bytes.as_ref());
            }
            None => {
                self.0.update(&[0]);
            }
        }
    }

    fn numbers(&mut self, numbers: &[f64]) {
        // All at once: of every piece, the hash would take the first and the last kilobyte slowly.
        self.bytes(&to_bytes(numbers));
    }
}
