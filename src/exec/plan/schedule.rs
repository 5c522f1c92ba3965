//! The order of a plan's steps: elementwise operators in groups as large as possible.
//!
//! List scheduling: whatever is ready and not elementwise runs first; when nothing of that
//! kind is left, all elementwise operators of one shape that are ready, or become so by
//! running, form a group.

use std::collections::{HashMap, VecDeque};

use crate::array::Shape;

/// What is scheduled: instruction numbers.
#[derive(Debug, PartialEq)]
pub(in crate::exec) enum Unit {
    One(usize),
    Group(Vec<usize>),
}

impl Unit {
    /// The instructions that it is made of.
    pub(in crate::exec) fn members(&self) -> &[usize] {
        match self {
            Unit::One(n) => std::slice::from_ref(n),
            Unit::Group(members) => members,
        }
    }
}

/// Instructions whose operands are computed.
struct Computable {
    plain: VecDeque<usize>,
    /// Elementwise ones by shape.
    groups: Vec<VecDeque<usize>>,
    number: HashMap<Shape, usize>,
}

impl Computable {
    fn add(&mut self, i: usize, shape: Option<Shape>) {
        match shape {
            None => self.plain.push_back(i),
            Some(shape) => {
                let next = self.groups.len();
                let group = *self.number.entry(shape).or_insert(next);
                if group == next {
                    self.groups.push(VecDeque::new());
                }
                self.groups[group].push_back(i);
            }
        }
    }

    /// The group whose first member comes first in the program.
    fn first_group(&self) -> Option<usize> {
        let fronts = self.groups.iter().enumerate();
        let fronts = fronts.filter_map(|(g, q)| q.front().map(|&i| (i, g)));
        fronts.min().map(|(_, g)| g)
    }
}

/// Orders the instructions `0..users.len()` for which `scheduled` holds. `users[i]` lists
/// who reads `i` (once per read), `waits[i]` counts what `i` reads, and `shape(i)` is the
/// shape of an operator that may join a group.
pub(in crate::exec) fn schedule(
    users: &[Vec<usize>],
    mut waits: Vec<usize>,
    scheduled: impl Fn(usize) -> bool,
    shape: impl Fn(usize) -> Option<Shape>,
) -> Vec<Unit> {
    let mut ready = Computable {
        plain: VecDeque::new(),
        groups: Vec::new(),
        number: HashMap::new(),
    };
    for i in (0..users.len()).filter(|&i| scheduled(i) && waits[i] == 0) {
        ready.add(i, shape(i));
    }
    let mut finish = |i: usize, ready: &mut Computable| {
        for &user in &users[i] {
            waits[user] -= 1;
            if waits[user] == 0 {
                ready.add(user, shape(user));
            }
        }
    };
    let mut units = Vec::new();
    loop {
        if let Some(i) = ready.plain.pop_front() {
            finish(i, &mut ready);
            units.push(Unit::One(i));
        } else if let Some(g) = ready.first_group() {
            let mut group = Vec::new();
            while let Some(i) = ready.groups[g].pop_front() {
                finish(i, &mut ready);
                group.push(i);
            }
            units.push(Unit::Group(group));
        } else {
            return units;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elementwise_operators_of_one_shape_run_together() {
        // 0 and 1 are lookups; 2 = f(0), 3 = g(1), 4 = h(2, 3) are elementwise; 5 = sum(4);
        // 6 = k(4) is elementwise.
        let users = vec![
            vec![2],
            vec![3],
            vec![4],
            vec![4],
            vec![5, 6],
            vec![],
            vec![],
        ];
        let waits = vec![0, 0, 1, 1, 2, 1, 1];
        let shape = |i: usize| [2, 3, 4, 6].contains(&i).then(|| Shape::from_slice(&[10]));
        let units = schedule(&users, waits, |_| true, shape);
        let expected = [
            Unit::One(0),
            Unit::One(1),
            Unit::Group(vec![2, 3, 4, 6]),
            Unit::One(5),
        ];
        assert_eq!(units, expected);
    }
}
