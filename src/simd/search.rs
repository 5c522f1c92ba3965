//! Counts how many of some sorted numbers lie below each of many values.
//!
//! Up to [`MOST`] numbers are a binary search tree in four registers; one instruction looks up the next node
//! for 16 values. That is 5 to 7 times as fast as to compare every value with each of 33
//! numbers.
//!
//! Limits: AVX-512 only. With registers half as long a step would take up to seven instructions.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::Isa;

/// Numbers of a tree, at most: its six levels have as many nodes.
pub(crate) const MOST: usize = 63;
/// Numbers of a register.
const LANES: usize = 16;

/// Sorted numbers, as a tree.
pub(crate) struct Tree {
    /// The first four levels, where the children of node n are 2n and 2n + 1 and the first is 1; the fifth;
    /// and the sixth, in two parts.
    nodes: [[f32; LANES]; 4],
    /// Levels that are there, at least four.
    levels: u32,
}

impl Tree {
    /// A tree of at most [`MOST`] numbers that rise; None if the CPU lacks the instructions.
    pub(crate) fn new(numbers: &[f32]) -> Option<Tree> {
        if Isa::active() != Isa::Avx512 || numbers.len() > MOST {
            return None;
        }
        let levels = (numbers.len() + 1).next_power_of_two().ilog2().max(4);
        // Nothing is above what is no number, or equal to it.
        let number = |at: usize| numbers.get(at).copied().unwrap_or(f32::NAN);
        let node = |node: usize| {
            let level = node.max(1).ilog2();
            let place = (2 * (node.max(1) - (1 << level)) + 1) << levels >> (level + 1);
            number(place.wrapping_sub(1))
        };
        let nodes = [0, 1, 2, 3].map(|part| std::array::from_fn(|at| node(part * LANES + at)));
        Some(Tree { nodes, levels })
    }

    /// The sum, over some values, of the numbers below each and of those that are not above.
    pub(crate) fn passed(&self, values: &[f32]) -> u64 {
        #[cfg(target_arch = "x86_64")]
        {
            let (whole, rest) = values.as_chunks::<LANES>();
            let mut last = [f32::NAN; LANES];
            last[..rest.len()].copy_from_slice(rest);
            let last = [last];
            // Sums of so many values are below 2³².
            let parts = whole.chunks(1 << 20).chain([&last[..]]);
            let sums = parts.map(|part| {
                // SAFETY: there is a tree only if the CPU was found to have AVX-512.
                u64::from(unsafe {
                    match self.levels {
                        4 => search::<4>(&self.nodes, part),
                        5 => search::<5>(&self.nodes, part),
                        _ => search::<6>(&self.nodes, part),
                    }
                })
            });
            sums.sum()
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (values, self.nodes, self.levels);
            0
        }
    }
}

/// See [`Tree::passed`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn search<const LEVELS: u32>(nodes: &[[f32; LANES]; 4], values: &[[f32; LANES]]) -> u32 {
    // SAFETY: a row is as long as a register.
    let load = |row: &[f32; LANES]| unsafe { _mm512_loadu_ps(row.as_ptr()) };
    let [first, fifth, sixth, last] = [0, 1, 2, 3].map(|at| load(&nodes[at]));
    let one = _mm512_set1_epi32(1);
    // LLVM makes three instructions of a masked addition whose summand it knows to be 1.
    let step = _mm512_set1_epi32(std::hint::black_box(1));
    let mut sum = _mm512_setzero_si512();
    for row in values {
        let value = load(row);
        // The nodes that are reached in search of the first number that is not below, and of the first
        // above. Of a node's number the last bits alone are looked at, which is its place on its level.
        let (mut lower, mut upper) = (one, one);
        for level in 0..LEVELS {
            let at = |node| match level {
                0..4 => _mm512_permutexvar_ps(node, first),
                4 => _mm512_permutexvar_ps(node, fifth),
                _ => _mm512_permutex2var_ps(sixth, node, last),
            };
            let below = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(at(lower), value);
            let not_above = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(at(upper), value);
            lower = _mm512_add_epi32(lower, lower);
            upper = _mm512_add_epi32(upper, upper);
            lower = _mm512_mask_add_epi32(lower, below, lower, step);
            upper = _mm512_mask_add_epi32(upper, not_above, upper, step);
        }
        // Below the last level nodes begin at this number.
        let begin = _mm512_set1_epi32(2 << LEVELS);
        let passed = _mm512_sub_epi32(_mm512_add_epi32(lower, upper), begin);
        sum = _mm512_add_epi32(sum, passed);
    }
    _mm512_reduce_add_epi32(sum) as u32
}

#[cfg(test)]
mod tests {
    use super::{MOST, Tree};

    #[test]
    fn it_counts_as_comparing_each_pair_does() {
        let numbers = |count: usize, levels: usize| -> Vec<f32> {
            let number = |at: usize| match (at * 7919 + count) % levels {
                0 => f32::NEG_INFINITY,
                1 => f32::INFINITY,
                2 => -0.0,
                level => level as f32 - 3.0,
            };
            (0..count).map(number).collect()
        };
        for count in 0..=MOST {
            for levels in [1, 3, 7, 40, 1000] {
                let mut sorted = numbers(count, levels);
                sorted.sort_unstable_by(f32::total_cmp);
                let Some(tree) = Tree::new(&sorted) else {
                    return;
                };
                for values in [0, 1, 15, 16, 17, 70].map(|count| numbers(count, levels)) {
                    let passed = |value: &f32| {
                        let below = sorted.iter().filter(|&number| number < value).count();
                        below + sorted.iter().filter(|&number| number <= value).count()
                    };
                    let expected: usize = values.iter().map(passed).sum();
                    assert_eq!(tree.passed(&values), expected as u64, "{count} of {levels}");
                }
            }
        }
        assert!(Tree::new(&[0.0; MOST + 1]).is_none());
    }
}
