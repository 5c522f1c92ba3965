//! Tests of the control flow graph against the definitions.

use rand::RngExt;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

fn graph(successors: &[&[usize]]) -> Cfg {
    let successors = successors.iter().map(|to| SmallVec::from_slice(to));
    Cfg::of(successors.collect())
}

/// The blocks that can be reached from `start` by ways that avoid some.
fn reached(g: &Cfg, start: usize, avoid: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut seen = vec![false; g.successors.len()];
    let mut waiting = vec![start];
    while let Some(block) = waiting.pop() {
        if !avoid(block) && !std::mem::replace(&mut seen[block], true) {
            waiting.extend(&g.successors[block]);
        }
    }
    seen
}

#[test]
fn a_loop_in_a_loop_with_a_way_out_of_both() {
    // 0 → 1 (outer header) → 2 (inner header) → 3 → 2, 3 → 5; 2 → 4 → 1; 1 → 5. 6 leads to 5.
    let g = graph(&[&[1], &[2, 5], &[3, 4], &[2, 5], &[1], &[], &[5]]);
    assert_eq!(g.order(), [0, 1, 2, 3, 4, 5]);
    let dominators: Vec<_> = (0..7).map(|b| g.dominator(b)).collect();
    let expected = [None, Some(0), Some(1), Some(2), Some(2), Some(1), None];
    assert_eq!(dominators, expected);
    let [outer, inner] = g.loops() else {
        panic!("{:?}", g.loops());
    };
    assert_eq!((outer.header, &outer.blocks[..]), (1, &[1, 2, 3, 4][..]));
    assert_eq!((outer.parent, outer.depth), (None, 1));
    assert_eq!((inner.header, &inner.blocks[..]), (2, &[2, 3][..]));
    assert_eq!((inner.parent, inner.depth), (Some(0), 2));
    assert_eq!(inner.back, [Edge { from: 3, slot: 0 }]);
    let depths: Vec<_> = (0..7).map(|b| g.depth(b)).collect();
    assert_eq!(depths, [0, 1, 2, 2, 1, 0, 0]);
    assert!(!g.is_reachable(6) && g.predecessors(5).len() == 2);
}

#[test]
fn two_jumps_to_one_block_are_two_edges() {
    let g = graph(&[&[1, 1], &[]]);
    let edges = [0, 1].map(|slot| Edge { from: 0, slot });
    assert_eq!(g.predecessors(1), edges);
    assert!(g.loops().is_empty() && !g.in_cycle(0) && !g.in_cycle(1));
}

#[test]
fn a_block_that_jumps_to_itself_is_a_loop_and_the_entry_may_be_one() {
    let g = graph(&[&[0, 1], &[]]);
    assert_eq!(g.loops().len(), 1);
    assert!(g.in_cycle(0) && !g.in_cycle(1));
    assert_eq!(g.dominator(0), None);
}

#[test]
fn a_cycle_with_two_ways_in_is_no_loop_but_a_cycle() {
    let g = graph(&[&[1, 2], &[2], &[1, 3], &[]]);
    assert!(g.loops().is_empty());
    assert_eq!(
        [0, 1, 2, 3].map(|b| g.in_cycle(b)),
        [false, true, true, false]
    );
}

#[test]
fn a_million_blocks_in_a_row_do_not_exhaust_the_stack() {
    let count = 1_000_000;
    let successors = (0..count).map(|b| SmallVec::from_slice(&[(b + 1).min(count - 1)]));
    let g = Cfg::of(successors.collect());
    assert!(g.dominates(0, count - 1) && !g.dominates(count - 1, 0));
    assert_eq!(g.order().len(), count);
    assert!(g.in_cycle(count - 1) && !g.in_cycle(0));
}

/// Dominance, loops and cycles by their definitions.
#[test]
fn random_graphs_have_what_the_definitions_say() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    for _ in 0..2000 {
        let count = random.random_range(1..9);
        let successors = (0..count).map(|_| {
            let targets = random.random_range(0..3);
            (0..targets)
                .map(|_| random.random_range(0..count))
                .collect()
        });
        let g = Cfg::of(successors.collect());
        let all = reached(&g, 0, |_| false);
        let after = |b: usize| {
            let mut seen = vec![false; count];
            for &to in &g.successors[b] {
                for (k, more) in reached(&g, to, |_| false).into_iter().enumerate() {
                    seen[k] |= more;
                }
            }
            seen
        };
        let order = g.order();
        assert_eq!(order.len(), all.iter().filter(|seen| **seen).count());
        let mut sorted = [order, g.by_dominance()].map(<[usize]>::to_vec);
        sorted.iter_mut().for_each(|order| order.sort_unstable());
        assert_eq!(sorted[0], sorted[1]);
        let mut reducible = true;
        for b in (0..count).filter(|&b| all[b]) {
            assert_eq!(g.position(b), order.iter().position(|&x| x == b));
            let avoiding: Vec<_> = (0..count).map(|a| reached(&g, 0, |x| x == a)[b]).collect();
            for a in 0..count {
                assert_eq!(g.dominates(a, b), !avoiding[a] && all[a], "{a} {b} {g:?}");
            }
            let strict = (0..count).filter(|&a| a != b && g.dominates(a, b));
            let closest = strict.max_by_key(|&a| g.position(a));
            assert_eq!(g.dominator(b), closest);
            for (slot, &to) in g.successors[b].iter().enumerate() {
                assert!(g.predecessors(to).contains(&Edge { from: b, slot }));
                let back = g.position(to) <= g.position(b);
                reducible &= !back || g.dominates(to, b);
                let is_loop = g
                    .loops()
                    .iter()
                    .any(|l| l.header == to && l.blocks.contains(&b));
                assert!(!g.dominates(to, b) || is_loop);
            }
        }
        for l in g.loops() {
            for &b in &l.blocks {
                assert!(g.dominates(l.header, b) && after(b)[l.header] && g.in_cycle(b));
                let around = g.loops().iter().filter(|l| l.blocks.contains(&b));
                assert_eq!(g.depth(b), around.count());
                let innermost = &g.loops()[g.innermost(b).expect("it is in one")];
                assert!(innermost.blocks.contains(&b) && innermost.depth == g.depth(b));
                let nested = innermost.blocks.iter().all(|b| l.blocks.contains(b));
                assert!(nested, "{g:?}");
            }
        }
        for b in (0..count).filter(|&b| all[b]) {
            let cyclic = after(b)[b];
            assert!(g.in_cycle(b) || !cyclic);
            assert!(!reducible || g.in_cycle(b) == cyclic, "{b} {g:?}");
        }
    }
}

#[test]
fn post_dominators_are_what_all_ways_to_the_exit_pass() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(12);
    let mut found = 0;
    for _ in 0..8000 {
        let count = random.random_range(1..9);
        let exit = random.random_range(0..count);
        let successors = (0..count).map(|block| {
            let targets = random.random_range(1..3) * usize::from(block != exit);
            (0..targets)
                .map(|_| random.random_range(0..count))
                .collect()
        });
        let g = Cfg::of(successors.collect());
        let ends = |b: usize, avoid: usize| reached(&g, b, |x| x == avoid)[exit];
        let nexts = g.post_dominators(exit);
        for b in (0..count).filter(|&b| g.is_reachable(b)) {
            if b == exit || !reached(&g, b, |_| false)[exit] {
                assert_eq!(nexts[b], None, "{b} {exit} {g:?}");
                continue;
            }
            let all = (0..count).filter(|&a| a != b && (a == exit || !ends(b, a)));
            // The next is the one from which the ways to the exit pass all others.
            let closest = all
                .clone()
                .find(|&a| all.clone().all(|c| c == a || !ends(a, c) || c == exit));
            assert_eq!(nexts[b], closest, "{b} {exit} {g:?}");
            found += 1;
        }
    }
    assert!(found > 3000);
}
