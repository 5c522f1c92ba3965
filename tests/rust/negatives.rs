//! Negatives that workers draw by the model, beside their own graphs.

use std::sync::Arc;

use wyrmling::array::Dense;
use wyrmling::optim::Optimizer;
use wyrmling::train::{self, Choice, Member, Sampler, ScoredSampler};
use wyrmling::{Error, Input, Parameter, Result, Table};

/// One user, whose scores of four items are 0, 1, 2 and 3, and who likes the third.
fn tables() -> [Arc<Table>; 2] {
    let table = |shape: &[usize], numbers: &[f32]| {
        let value = Dense::new(shape, numbers.to_vec()).expect("as many numbers");
        Arc::new(Table::new(&value.into(), None).expect("finite numbers"))
    };
    [
        table(&[1, 1], &[1.0]),
        table(&[4, 1], &[0.0, 1.0, 2.0, 3.0]),
    ]
}

fn sampler([users, items]: [Arc<Table>; 2], choice: Choice) -> ScoredSampler {
    let base = Sampler::uniform(4).and_then(|all| all.reject(&[0], &[2]));
    let base = base.expect("items that the user does not know");
    ScoredSampler::new(base, users, items, None, choice).expect("vectors that fit")
}

const WARP: Choice = Choice::Warp {
    margin: 0.5,
    most: 200,
};

/// Runs one worker over the tables.
fn run(tables: &[Arc<Table>; 2], work: impl Fn(Member<'_>) -> Result<()> + Sync) {
    let sgd = Optimizer::sgd(1.0).expect("a positive rate");
    train::parallel(1, 1, tables, &sgd, work).expect("nothing is refused");
}

#[test]
fn negatives_are_those_of_the_choice_at_that_moment() {
    let tables = tables();
    let of = |choice| sampler(tables.clone(), choice);
    let (hardest, warp, adaptive) = (
        of(Choice::Hardest(200)),
        of(WARP),
        of(Choice::Adaptive(0.1)),
    );
    let two = (&[0_u32, 0][..], &[2_u32, 2][..]);
    run(&tables, |mut worker| {
        let mut hardest = worker.negatives(&hardest)?;
        let (mut drawn, mut ranks) = ([9; 6], [9.0; 2]);
        hardest.draw(&mut worker.rng, two, &mut drawn, Some(&mut ranks))?;
        assert_eq!((drawn, ranks), ([3; 6], [1.0; 2]));
        let mut adaptive = worker.negatives(&adaptive)?;
        adaptive.draw(&mut worker.rng, two, &mut drawn, None)?;
        assert_eq!(drawn, [3; 6]);
        // The fourth item alone is above the third less the margin. Of three items that are no positives it
        // is found in the first draw, at rank 3, or later, at rank 1.
        let mut warp = worker.negatives(&warp)?;
        let mut found = Vec::new();
        for _ in 0..200 {
            let (mut one, mut rank) = ([9], [9.0]);
            warp.draw(&mut worker.rng, (&[0], &[2]), &mut one, Some(&mut rank))?;
            assert_eq!(one, [3]);
            found.push(rank[0]);
        }
        let first = found.iter().filter(|&&rank| rank == 3.0).count();
        let later = found.iter().filter(|&&rank| rank == 1.0).count();
        assert!(
            first + later == 200 && (30..110).contains(&first),
            "{first}"
        );

        // A step that turns the order round is seen by the next draw.
        let items = Parameter::shared(Arc::clone(&tables[1]));
        let away = Dense::new(&[4, 1], vec![0.0_f32, 0.0, 0.0, 9.0])?;
        let loss = (items * Input::new(wyrmling::Array::from(away))).sum();
        worker.trainer(&loss)?.step()?;
        hardest.draw(&mut worker.rng, two, &mut drawn, None)?;
        assert_eq!(drawn, [1; 6]);
        let (mut one, mut rank) = ([9], [9.0]);
        warp.draw(&mut worker.rng, (&[0], &[2]), &mut one, Some(&mut rank))?;
        assert!(one != [2] && rank == [1.0]);
        Ok(())
    });
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_drawn() {
    let (tables, others) = (tables(), self::tables());
    let (warp, hardest) = (
        sampler(tables.clone(), WARP),
        sampler(tables.clone(), Choice::Hardest(2)),
    );
    let foreign = sampler([Arc::clone(&tables[0]), Arc::clone(&others[1])], WARP);
    run(&tables, |mut worker| {
        assert!(matches!(worker.negatives(&foreign), Err(Error::State(_))));
        let (mut warp, mut hardest) = (worker.negatives(&warp)?, worker.negatives(&hardest)?);
        let rng = &mut worker.rng;
        let mut drawn = [9; 3];
        let mut refused = |users: &[u32], items: &[u32], count: usize, ranks: usize| {
            let ranks = &mut [9.0; 3][..ranks];
            warp.draw(rng, (users, items), &mut drawn[..count], Some(ranks))
                .unwrap_err()
        };
        assert!(matches!(refused(&[1], &[2], 1, 1), Error::Index(e) if e.contains("users")));
        assert!(matches!(refused(&[0], &[4], 1, 1), Error::Index(e) if e.contains("items")));
        assert!(matches!(refused(&[0], &[], 1, 1), Error::Shape(e) if e.contains("items")));
        assert!(matches!(refused(&[0], &[2], 2, 1), Error::Shape(e) if e.contains("drawn")));
        assert!(matches!(refused(&[0], &[2], 1, 0), Error::Shape(e) if e.contains("ranks")));
        let two = (&[0_u32, 0][..], &[2_u32, 2][..]);
        let uneven = hardest.draw(&mut worker.rng, two, &mut drawn, None);
        assert!(matches!(uneven, Err(Error::Shape(_))));
        let nobody = hardest.draw(&mut worker.rng, (&[], &[]), &mut drawn, None);
        assert!(matches!(nobody, Err(Error::Shape(_))));
        assert_eq!(drawn, [9; 3]);
        hardest.draw(&mut worker.rng, (&[], &[]), &mut [], None)?;
        Ok(())
    });
}
