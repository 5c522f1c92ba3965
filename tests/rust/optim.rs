//! The rules against formulas written naively, steps against training, and steps that lead out
//! of the numbers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wyrmling::array::Dense;
use wyrmling::optim::{L2Per, Optimizer, Penalized, Rule, Settings};
use wyrmling::table::Param;
use wyrmling::train::{self, Fit, Flow, History, Source};
use wyrmling::{Array, Error, Input, Parameter, Result};

pub(crate) const ADAM: Rule = Rule::Adam {
    beta1: 0.9,
    beta2: 0.999,
    eps: 1e-8,
};
pub(crate) const RULES: [Rule; 4] = [
    Rule::Sgd { momentum: 0.0 },
    Rule::Sgd { momentum: 0.9 },
    Rule::Adagrad { eps: 1e-10 },
    ADAM,
];

pub(crate) fn column(numbers: &[f32], width: usize) -> Array {
    let shape = [numbers.len() / width, width];
    let shape = if width == 1 { &shape[..1] } else { &shape };
    Dense::new(shape, numbers.to_vec())
        .expect("the shape fits")
        .into()
}

/// Makes the gradient of some rows, or of all, a given number.
pub(crate) fn collect(w: &Parameter, factor: f64, rows: Option<&[u32]>) {
    w.param().zero_grad();
    let looked_up = match rows {
        Some(rows) => (w.clone().gather(Input::indices(rows.to_vec())) * factor)
            .sum()
            .boxed(),
        None => (w.clone() * factor).sum().boxed(),
    };
    looked_up.try_backward().expect("a gradient");
}

pub(crate) fn bits(w: &Parameter) -> Vec<u64> {
    let numbers = w.param().table().read().to_f64();
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// Row by row, number by number, in double precision.
struct Naive {
    rule: Rule,
    settings: Settings,
    state: Vec<[f64; 3]>,
}

impl Naive {
    /// A step by the gradients of the occurrences of a row.
    fn step(&mut self, at: usize, w: &mut f64, gradients: &[f64]) {
        let Settings {
            lr,
            l2,
            l2_per,
            clip,
        } = self.settings;
        let clip = clip.unwrap_or(f64::INFINITY);
        if l2_per == L2Per::Sample && self.rule == RULES[0] && clip.is_infinite() {
            for g in gradients {
                *w -= lr * (g + l2 * *w);
            }
            return;
        }
        let times = match l2_per {
            L2Per::Step => 1.0,
            L2Per::Sample => gradients.len() as f64,
        };
        let g = gradients.iter().sum::<f64>().clamp(-clip, clip) + times * l2 * *w;
        let [a, b, n] = &mut self.state[at];
        *w -= lr
            * match self.rule {
                Rule::Sgd { momentum } => {
                    *a = momentum * *a + g;
                    *a
                }
                Rule::Adagrad { eps } => {
                    *a += g * g;
                    g / (a.sqrt() + eps)
                }
                Rule::Adam { beta1, beta2, eps } => {
                    *n += 1.0;
                    *a = beta1 * *a + (1.0 - beta1) * g;
                    *b = beta2 * *b + (1.0 - beta2) * g * g;
                    let v = *b / (1.0 - beta2.powf(*n));
                    *a / (1.0 - beta1.powf(*n)) / (v.sqrt() + eps)
                }
            };
    }
}

/// Rows of every kind of width, once or many times in a gradient of one part or two.
#[test]
fn rules_follow_their_formulas() {
    const ROWS: usize = 9;
    for rule in RULES {
        // Each setting alone, too: a rule without any takes a way of its own.
        let each = [(0.0, None), (0.1, None), (0.0, Some(0.6)), (0.1, Some(0.6))];
        let each = each.into_iter().flat_map(|(l2, clip)| {
            [L2Per::Step, L2Per::Sample].map(|l2_per| Settings {
                lr: 0.05,
                l2,
                l2_per,
                clip,
            })
        });
        for settings in each {
            for width in [1, 2, 5, 8, 16, 19, 32, 40, 64, 97] {
                let numbers: Vec<f32> = (0..ROWS * width).map(|k| (k as f32).sin()).collect();
                let w = Parameter::new(column(&numbers, width));
                let mut expected: Vec<f64> = numbers.iter().map(|&x| f64::from(x)).collect();
                let optimizer = Optimizer::new(rule, settings).unwrap();
                let state = vec![[0.0; 3]; expected.len()];
                let mut naive = Naive {
                    rule,
                    settings,
                    state,
                };
                for round in 0..30u32 {
                    // Two lookups: their gradients come one after the other.
                    let rows: Vec<u32> = (0..7).map(|k| (k * k + round * k) % 8).collect();
                    let (first, second) = rows.split_at(4);
                    w.param().zero_grad();
                    let part = |rows: &[u32], factor: f64| {
                        (w.clone().gather(Input::indices(rows.to_vec())) * factor).sum()
                    };
                    let loss = part(first, 0.3) - part(second, 0.5);
                    loss.try_backward().unwrap();
                    optimizer.step(&[w.param()]).unwrap();
                    for row in 0..ROWS {
                        let count =
                            |part: &[u32]| part.iter().filter(|&&r| r as usize == row).count();
                        if rows.contains(&(row as u32)) {
                            let gradients =
                                [vec![-0.5; count(second)], vec![0.3; count(first)]].concat();
                            let row = row * width..(row + 1) * width;
                            for (at, w) in row.clone().zip(&mut expected[row]) {
                                naive.step(at, w, &gradients);
                            }
                        }
                    }
                }
                let got = w.param().table().read().to_f64();
                for (k, (got, want)) in got.iter().zip(&expected).enumerate() {
                    let close = 3e-5 * (1.0 + want.abs());
                    assert!(
                        (got - want).abs() < close,
                        "{rule:?} {width} {k}: {got} {want}"
                    );
                }
            }
        }
    }
}

/// A step by hand and a batch of training give the same bits, where sums are exact in any
/// order.
#[test]
fn training_steps_as_by_hand() {
    for rule in RULES {
        for width in [1, 3, 19, 32, 64] {
            let (step, sample) = (L2Per::Step, L2Per::Sample);
            for (l2, l2_per, clip) in [
                (0.0, step, None),
                (0.1, step, None),
                (0.1, sample, None),
                (0.1, step, Some(0.6)),
                (0.1, sample, Some(0.6)),
            ] {
                let numbers: Vec<f32> = (0..9 * width).map(|k| (k as f32).cos()).collect();
                let rows: Vec<u32> = (0..40u32).map(|k| k * k % 8).collect();
                let settings = Settings {
                    lr: 0.05,
                    l2,
                    l2_per,
                    clip,
                };
                let by_hand = Parameter::new(column(&numbers, width));
                let optimizer = Optimizer::new(rule, settings).unwrap();
                for _ in 0..3 {
                    collect(&by_hand, 0.25, Some(&rows));
                    optimizer.step(&[by_hand.param()]).unwrap();
                }
                let w = Parameter::new(column(&numbers, width));
                let i = Input::indices(vec![0]);
                let program = (w.clone().gather(i.clone()) * 0.25).sum().freeze().unwrap();
                let fit = Fit {
                    sources: vec![(i.id(), Source::Column(rows.into()))],
                    epochs: 0..3,
                    batch_size: 40,
                    threads: 1,
                    seed: 1,
                    deterministic: false,
                };
                let optimizer = Optimizer::new(rule, settings).unwrap();
                let go_on = &mut |_: usize, _: &History| Flow::Continue;
                train::fit(&program, &fit, &optimizer, &AtomicBool::new(false), go_on).unwrap();
                assert_eq!(bits(&w), bits(&by_hand), "{rule:?}, width {width}");
                // The last row is never looked up.
                let last = |numbers: Vec<u64>| numbers[8 * width..].to_vec();
                assert_eq!(
                    last(bits(&w)),
                    last(bits(&Parameter::new(column(&numbers, width))))
                );
            }
        }
    }
}

/// A step that overflows is refused; the next one does what it does for an optimizer that
/// never saw the refused one.
#[test]
fn a_row_alone_steps_as_among_others() -> Result<()> {
    let plain = Settings::new(0.1);
    let l2 = Settings { l2: 0.3, ..plain };
    let per_sample = Settings {
        l2_per: L2Per::Sample,
        ..l2
    };
    let clip = Settings {
        clip: Some(0.2),
        ..per_sample
    };
    for (rule, settings) in RULES
        .into_iter()
        .flat_map(|r| [plain, l2, per_sample, clip].map(|s| (r, s)))
    {
        for width in [1, 3, 32, 40] {
            let numbers: Vec<f32> = (0..4 * width).map(|k| (k as f32).sin()).collect();
            let [alone, among] = [(); 2].map(|()| Parameter::new(column(&numbers, width)));
            let optimizers = [(); 2].map(|()| Optimizer::new(rule, settings));
            for (factor, row) in [(0.7, 3), (-0.1, 0), (0.4, 3)] {
                for (w, rows, by) in [(&alone, &[row][..], 0), (&among, &[row, 1], 1)] {
                    collect(w, factor, Some(rows));
                    optimizers[by].as_ref().map_err(Clone::clone)?.step(&[w])?;
                }
            }
            let [alone, among] = [alone, among].map(|w| bits(&w));
            assert_eq!(
                alone[2 * width..],
                among[2 * width..],
                "{rule:?} {settings:?} {width}"
            );
            assert_eq!(
                alone[..width],
                among[..width],
                "{rule:?} {settings:?} {width}"
            );
            assert_ne!(alone[width..2 * width], among[width..2 * width]);
        }
    }
    Ok(())
}

#[test]
fn a_step_out_of_range_changes_nothing() {
    for rule in RULES {
        for width in [1, 3, 32] {
            for rows in [None, Some(&[2, 0, 2][..])] {
                let numbers: Vec<f32> = (0..4 * width).map(|k| (k as f32).sin()).collect();
                let [tried, fresh] = [0; 2].map(|_| Parameter::new(column(&numbers, width)));
                let other = Parameter::new(column(&[1.0], 1));
                let settings = Settings::new(1e3);
                let [a, b] = [0; 2].map(|_| Optimizer::new(rule, settings).unwrap());
                for (w, optimizer) in [(&tried, &a), (&fresh, &b)] {
                    collect(w, 0.5, rows);
                    optimizer.step(&[w.param()]).unwrap();
                }
                let before = bits(&tried);
                assert_eq!(before, bits(&fresh));
                // Finite itself, but neither its square nor its thousandfold is.
                collect(&tried, 3e38, rows);
                collect(&other, 1.0, None);
                let error = a.step(&[other.param(), tried.param()]).unwrap_err();
                let label = tried.param().table().label();
                assert!(
                    matches!(&error, Error::NotFinite(m) if m.contains(&label)),
                    "{error}"
                );
                assert_eq!(
                    (bits(&tried), bits(&other)),
                    (before, vec![1.0f64.to_bits()])
                );
                for (w, optimizer) in [(&tried, &a), (&fresh, &b)] {
                    collect(w, 0.25, rows);
                    optimizer.step(&[w.param()]).unwrap();
                }
                assert_eq!(bits(&tried), bits(&fresh), "{rule:?}, width {width}");
            }
        }
    }
}

/// A gradient of no rows at all.
#[test]
fn nothing_looked_up_changes_nothing() {
    for rule in RULES {
        for width in [1, 3] {
            let w = Parameter::new(column(&[0.5; 6], width));
            collect(&w, 1.0, Some(&[]));
            let settings = Settings {
                l2: 0.1,
                ..Settings::new(0.1)
            };
            let optimizer = Optimizer::new(rule, settings).unwrap();
            optimizer.step(&[w.param()]).unwrap();
            assert_eq!(bits(&w), [0.5f64.to_bits(); 6]);
        }
    }
}

/// A rate beyond the numbers of the type.
#[test]
fn a_rate_out_of_range_is_reported() {
    for rule in RULES {
        let w = Parameter::new(column(&[1.0, 2.0], 1));
        let optimizer = Optimizer::new(rule, Settings::new(1e308)).unwrap();
        collect(&w, 1.0, None);
        let result = optimizer.step(&[w.param()]);
        assert!(matches!(result, Err(Error::NotFinite(_))), "{rule:?}");
        assert_eq!(bits(&w), [1.0, 2.0].map(f64::to_bits));
    }
}

/// Sums of squares that overflow would make steps of nothing: `fit` does not pass over it.
#[test]
fn state_out_of_range_ends_a_fit() {
    for rule in &RULES[2..] {
        for width in [1, 32] {
            for threads in [1, 2] {
                let w = Parameter::new(column(&vec![0.5; 4 * width], width));
                let i = Input::indices(vec![0]);
                let loss = (w.clone().gather(i.clone()) * 1e25).sum();
                let fit = Fit {
                    sources: vec![(i.id(), Source::Column(vec![1u32; 40].into()))],
                    epochs: 0..1,
                    batch_size: 4,
                    threads,
                    seed: 1,
                    deterministic: false,
                };
                let optimizer = Optimizer::new(*rule, Settings::new(0.1)).unwrap();
                let program = loss.freeze().unwrap();
                let go_on = &mut |_: usize, _: &History| Flow::Continue;
                let result = train::fit(&program, &fit, &optimizer, &AtomicBool::new(false), go_on);
                assert!(
                    matches!(result, Err(Error::NotFinite(_))),
                    "{rule:?}, width {width}"
                );
            }
        }
    }
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    let settings = |lr, l2, clip| Settings {
        l2,
        clip,
        ..Settings::new(lr)
    };
    let plain = settings(0.1, 0.0, None);
    let adam = |beta1, beta2, eps| Rule::Adam { beta1, beta2, eps };
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for (name, rule, settings) in [
        ("lr", ADAM, settings(-1e-9, 0.0, None)),
        ("lr", ADAM, settings(-1.0, 0.0, None)),
        ("lr", ADAM, settings(nan, 0.0, None)),
        ("lr", ADAM, settings(inf, 0.0, None)),
        ("l2", ADAM, settings(0.1, -1e-9, None)),
        ("l2", ADAM, settings(0.1, inf, None)),
        ("clip", ADAM, settings(0.1, 0.0, Some(0.0))),
        ("clip", ADAM, settings(0.1, 0.0, Some(inf))),
        ("momentum", Rule::Sgd { momentum: 1.0 }, plain),
        ("momentum", Rule::Sgd { momentum: -0.1 }, plain),
        ("eps", Rule::Adagrad { eps: 0.0 }, plain),
        ("eps", Rule::Adagrad { eps: inf }, plain),
        ("beta1", adam(1.0, 0.9, 1e-8), plain),
        ("beta2", adam(0.9, nan, 1e-8), plain),
        ("eps", adam(0.9, 0.9, 0.0), plain),
    ] {
        let error = Optimizer::new(rule, settings).unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{error:?}");
        assert!(
            error.to_string().starts_with(&format!("{name}: expected")),
            "{error}"
        );
    }
    for rule in RULES {
        assert!(Optimizer::new(rule, settings(1e-300, 0.0, Some(1e300))).is_ok());
    }
}

#[test]
fn a_weight_that_is_set_again_counts() -> Result<()> {
    let param = Param::new(&1.0.into(), Some("w".into()))?;
    let w = Parameter::from_param(Arc::new(param));
    let table = Penalized::Table(Arc::downgrade(w.param().table()));
    for penalized in [Penalized::Named("w".into()), table] {
        let mut sgd = Optimizer::sgd(1.0)?;
        for l2 in [0.25, 0.5] {
            sgd = sgd.with_l2(penalized.clone(), l2)?;
        }
        assert_eq!(sgd.settings_of(w.param().table()).l2, 0.5);
    }
    Ok(())
}

/// Clipping would hide that it is infinite.
#[test]
fn a_gradient_that_is_not_finite_is_refused_and_not_clipped() {
    let settings = Settings {
        clip: Some(1.0),
        ..Settings::new(0.1)
    };
    for rule in RULES {
        for rows in [None, Some(&[1u32, 3][..])] {
            let w = Parameter::new(column(&[1.0; 8], 2));
            let before = bits(&w);
            let optimizer = Optimizer::new(rule, settings).unwrap();
            for factor in [f64::INFINITY, f64::NAN] {
                collect(&w, factor, rows);
                let refused = optimizer.step(&[w.param()]);
                assert!(matches!(refused, Err(Error::NotFinite(_))), "{refused:?}");
                assert_eq!(bits(&w), before);
            }
        }
    }
}
