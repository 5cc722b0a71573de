//! Rows put together user by user.

/// Which row goes where, so that each user's rows are neighbours.
#[derive(Debug, PartialEq)]
pub(crate) struct Grouping {
    /// The old number of each row, in the new order.
    pub order: Vec<usize>,
    /// User `i` holds the rows from `blocks[i]` to `blocks[i + 1]`.
    pub blocks: Vec<usize>,
    pub names: Vec<String>,
}

impl Grouping {
    /// Groups rows by the number of their user's name. Users come in numeric order where every name is a whole number,
    /// else in the order of their text; a user's rows stay in order. Every name has at least one row.
    pub fn by_name(users: &[u32], names: Vec<String>) -> Self {
        let mut ranked: Vec<usize> = (0..names.len()).collect();
        let numbers: Option<Vec<i128>> = names.iter().map(|name| name.parse().ok()).collect();
        match numbers {
            Some(numbers) => ranked.sort_by_key(|user| (numbers[*user], &names[*user])),
            None => ranked.sort_by_key(|user| &names[*user]),
        }
        let mut ranks = vec![0; names.len()];
        for (rank, user) in ranked.iter().enumerate() {
            ranks[*user] = rank;
        }
        let ranks: Vec<usize> = users.iter().map(|user| ranks[*user as usize]).collect();
        let names = ranked.iter().map(|user| names[*user].clone()).collect();
        Self::by_rank(&ranks, names)
    }

    /// Groups rows by the number of their user, users as they are numbered.
    pub fn by_rank(users: &[usize], names: Vec<String>) -> Self {
        let mut blocks = vec![0; names.len() + 1];
        for user in users {
            blocks[user + 1] += 1;
        }
        for user in 0..names.len() {
            blocks[user + 1] += blocks[user];
        }
        let mut next = blocks.clone();
        let mut order = vec![0; users.len()];
        for (row, user) in users.iter().enumerate() {
            order[next[*user]] = row;
            next[*user] += 1;
        }
        Self { order, blocks, names }
    }

    /// Values of the rows, in the new order.
    pub fn arranged(&self, values: &[f64]) -> Vec<f64> {
        self.order.iter().map(|row| values[*row]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(names: &[&str], users: &[u32]) -> (Vec<String>, Vec<usize>, Vec<usize>) {
        let grouping = Grouping::by_name(users, names.iter().map(|name| (*name).to_owned()).collect());
        (grouping.names, grouping.blocks, grouping.order)
    }

    #[test]
    fn whole_numbers_are_in_numeric_order_and_texts_in_theirs() {
        let (names, blocks, order) = grouped(&["10", "9", "-1"], &[0, 1, 0, 2, 1]);
        assert_eq!(names, ["-1", "9", "10"]);
        assert_eq!(blocks, [0, 1, 3, 5]);
        assert_eq!(order, [3, 1, 4, 0, 2]);
        let (names, _, order) = grouped(&["10", "9", "b"], &[0, 1, 2]);
        assert_eq!(names, ["10", "9", "b"]);
        assert_eq!(order, [0, 1, 2]);
    }
}
