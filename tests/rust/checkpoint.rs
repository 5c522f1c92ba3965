//! Training that goes on from a file: with the same bits, and only where all of it fits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use wyrmling::array::Dense;
use wyrmling::io::tensors::{self, Contents, Tensor};
use wyrmling::optim::{L2Per, Optimizer, Rule, Settings};
use wyrmling::train::{Checkpoint, Trainer};
use wyrmling::{Array, DType, Error, Input, Parameter};

use crate::common::numbers;

static NEVER: AtomicBool = AtomicBool::new(false);

/// A file that is removed when the test ends.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        let name = format!("wyrmling-{}-{name}.safetensors", std::process::id());
        Temporary(std::env::temp_dir().join(name))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// Every rule, with settings whose digits a reader may lose.
fn optimizers(lr: f64) -> Vec<Optimizer> {
    let rules = [
        Rule::Sgd { momentum: 0.0 },
        Rule::Sgd {
            momentum: 0.1 + 0.2,
        },
        Rule::Adagrad { eps: 1e-10 },
        Rule::Adam {
            beta1: 0.9,
            beta2: 0.999_999_999_999_999_9,
            eps: 1e-8,
        },
    ];
    let settings = Settings {
        l2: 1e-3,
        l2_per: L2Per::Sample,
        clip: Some(0.7),
        ..Settings::new(lr)
    };
    let made = rules.map(|rule| Optimizer::new(rule, settings).expect("settings in range"));
    made.into()
}

/// A model of both types of numbers, one of them looked up by rows, and a step of its training.
struct Model {
    table: Parameter,
    weights: Parameter,
    rows: Input,
}

impl Model {
    fn new(start: u32) -> Self {
        Model {
            table: Parameter::new(numbers(DType::F32, &[5, 3], start)),
            weights: Parameter::new(numbers(DType::F64, &[3], start + 1)),
            rows: Input::indices(vec![0, 2]),
        }
    }

    fn train(&self, optimizer: &Optimizer, steps: std::ops::Range<u32>) {
        let rows = self.table.clone().gather(self.rows.clone());
        let loss = (rows * self.weights.clone() - 0.5).square().sum();
        let mut trainer = Trainer::new(&loss, optimizer).expect("parameters");
        for step in steps {
            self.rows
                .set_slice(&[step % 5, (3 * step + 1) % 5])
                .expect("rows");
            trainer.step().expect("finite numbers");
        }
    }

    fn checkpoint<'a>(&self, optimizer: &'a Optimizer) -> Checkpoint<'a> {
        let named = [("table", &self.table), ("weights.of it", &self.weights)];
        Checkpoint::new(named, optimizer).expect("names that differ")
    }

    fn bits(&self, optimizer: &Optimizer) -> Vec<u64> {
        let state = optimizer.snapshot().expect("memory");
        let slots = state.into_iter().flat_map(|one| one.slots);
        let values = [&self.table, &self.weights].map(|p| p.value().expect("a value"));
        let all = values.into_iter().chain(slots);
        let mut bits: Vec<u64> = all.flat_map(|a| a.to_f64()).map(f64::to_bits).collect();
        bits.push(optimizer.settings().lr.to_bits());
        bits
    }
}

#[test]
fn training_goes_on_with_the_same_bits() {
    let file = Temporary::new("same-bits");
    let lr = 0.1 + 0.2;
    for (first, second) in optimizers(lr).iter().zip(&optimizers(0.5)) {
        let model = Model::new(4);
        model.train(first, 0..7);
        model.checkpoint(first).save(&file.0, 7, &NEVER).unwrap();
        let other = Model::new(9);
        let restored = other.checkpoint(second).load(&file.0, &NEVER).unwrap();
        assert_eq!((restored, second.settings().lr), (7, lr));
        assert_eq!(model.bits(first), other.bits(second));
        model.train(first, 7..12);
        other.train(second, 7..12);
        assert_eq!(model.bits(first), other.bits(second));
    }
}

/// What Python has written, of one step: `tests/training/test_resume.py` says how.
#[test]
fn a_file_that_python_wrote_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/run.safetensors");
    let w = Parameter::new(vec![0.0_f32; 2]);
    let adam = Optimizer::adam(0.5).unwrap();
    let named = Checkpoint::new([("w", &w)], &adam).unwrap();
    assert_eq!(named.load(&path, &NEVER).unwrap(), 3);
    assert_eq!(w.value().unwrap().to_f64(), [0.5, -1.5]);
    assert_eq!(adam.settings().lr, 0.1 + 0.2);
    let state: Vec<_> = adam.slots_of(w.param().table()).unwrap();
    let state: Vec<_> = state.iter().map(Array::to_f64).collect();
    assert_eq!(state, [[0.25, -0.5], [1.0, 2.0], [4.0, 5.0]]);
    let file = Temporary::new("again");
    named.save(&file.0, 3, &NEVER).unwrap();
    let tensors = |path: &Path| {
        let formats = ["wyrmling.checkpoint/1"];
        let mut read = tensors::load(path, &formats, &NEVER).unwrap().tensors;
        read.remove("training");
        read
    };
    assert_eq!(tensors(&file.0), tensors(&path));
}

type Tensors = BTreeMap<String, Tensor<Vec<u8>>>;
/// Changes what a file holds.
type Change = Box<dyn Fn(&mut Tensors)>;

fn text(from: &'static str, to: &'static str) -> Change {
    Box::new(move |tensors| {
        let training = tensors.get_mut("training").expect("settings");
        let text = String::from_utf8(training.bytes.clone()).expect("UTF-8");
        assert!(text.contains(from), "{text}");
        training.bytes = text.replace(from, to).into_bytes();
        training.shape = vec![training.bytes.len()];
    })
}

fn tensor(
    name: &'static str,
    dtype: &'static str,
    shape: &'static [usize],
    bytes: Vec<u8>,
) -> Change {
    Box::new(move |tensors| {
        let tensor = Tensor {
            dtype: dtype.into(),
            shape: shape.to_vec(),
            bytes: bytes.clone(),
        };
        tensors.insert(name.into(), tensor);
    })
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let (file, bad) = (Temporary::new("good"), Temporary::new("bad"));
    let [adam, other] = [0.25, 0.5].map(|lr| Optimizer::adam(lr).expect("a positive rate"));
    let model = Model::new(4);
    model.train(&adam, 0..4);
    model.checkpoint(&adam).save(&file.0, 4, &NEVER).unwrap();
    model.train(&other, 0..3);
    let before = model.bits(&other);
    let f64s = |x: &[f64]| x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let changes: Vec<(Change, &str)> = vec![
        (text("\"epochs\":4", "\"epochs\":-4"), "epochs"),
        (text("\"epochs\":4", "\"epochs\":4.5"), "epochs"),
        (text("\"epochs\":4", "\"epochs\":\"4\""), "epochs is '4'"),
        (text("\"epochs\":4", "\"other\":4"), "other"),
        (text("Adam", "SGD"), "it is of SGD, expected that of Adam"),
        (
            text("0.999", "0.99"),
            "beta2 is 0.99 in the state, and 0.999",
        ),
        (text("\"step\"", "\"sample\""), "l2_per is sample"),
        (text("null", "0.5"), "clip is 0.5 in the state, and None"),
        (text("0.25", "-0.25"), "lr"),
        (text("0.25", "1e999"), "lr"),
        (text("0.25", "true"), "lr is true, expected a float"),
        (
            text("\"table\":0.0", "\"table\":0.5"),
            "l2 of 'table' is 0.5",
        ),
        (text("\"table\"", "\"tables\""), "tables"),
        (text("{", "["), "JSON"),
        (
            tensor("more", "F64", &[1], f64s(&[1.0])),
            "an unknown 'more'",
        ),
        (tensor("training", "F64", &[1], f64s(&[1.0])), "training"),
        (
            tensor("parameter.weights.of it", "F64", &[2], f64s(&[1.0; 2])),
            "shape (2,), expected (3,)",
        ),
        (
            tensor("parameter.weights.of it", "I64", &[3], vec![0; 24]),
            "got one of dtype I64",
        ),
        (
            tensor("parameter.weights.of it", "F32", &[3], vec![0; 12]),
            "got one of dtype float32",
        ),
        (
            tensor("parameter.weights.of it", "F64", &[3], f64s(&[f64::NAN; 3])),
            "NaN",
        ),
        (
            tensor(
                "state.weights.of it.exp_avg",
                "F64",
                &[3],
                f64s(&[f64::INFINITY; 3]),
            ),
            "infinity",
        ),
        (
            tensor(
                "state.weights.of it.exp_avg_sq",
                "F64",
                &[3],
                f64s(&[-1.0; 3]),
            ),
            "has -1.0",
        ),
        (
            tensor("state.weights.of it.step", "F64", &[3], f64s(&[0.5; 3])),
            "not whole",
        ),
        (
            tensor("state.weights.of it.step", "F64", &[2], f64s(&[1.0; 2])),
            "step",
        ),
    ];
    let good = tensors::load(&file.0, &["wyrmling.checkpoint/1"], &NEVER).unwrap();
    let write = |change: &dyn Fn(&mut Tensors)| {
        let mut tensors = good.tensors.clone();
        change(&mut tensors);
        let mut listed = BTreeMap::new();
        for (name, tensor) in &tensors {
            let tensor = Tensor {
                dtype: tensor.dtype.clone(),
                shape: tensor.shape.clone(),
                bytes: &tensor.bytes[..],
            };
            listed.insert(name.clone(), tensor);
        }
        let contents = Contents {
            format: good.format.clone(),
            about: good.about.clone(),
            tensors: listed,
        };
        tensors::save(&bad.0, &contents, &NEVER).expect("a file");
    };
    let refused = |expected: &str| {
        let error = model.checkpoint(&other).load(&bad.0, &NEVER).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}: {expected}");
        assert_eq!(model.bits(&other), before);
    };
    for (change, expected) in &changes {
        write(change);
        refused(expected);
    }
    for name in good.tensors.keys() {
        write(&|tensors| drop(tensors.remove(name)));
        refused("it has no");
    }
    let trained = model.weights.clone().square().sum();
    let trainer = Trainer::new(&trained, &adam).unwrap();
    let meanwhile = model.checkpoint(&other).load(&file.0, &NEVER);
    assert!(matches!(meanwhile, Err(Error::State(_))));
    drop(trainer);
    assert_eq!(model.checkpoint(&other).load(&file.0, &NEVER).unwrap(), 4);
}

#[test]
fn names_and_parameters_are_given_once() {
    let sgd = Optimizer::sgd(0.1).unwrap();
    let value = Dense::new(&[1], vec![1.0]).unwrap();
    let (a, b) = (Parameter::new(Array::from(value)), Parameter::new(1.0));
    for named in [[("a", &a), ("a", &b)], [("a", &a), ("b", &a)]] {
        assert!(matches!(Checkpoint::new(named, &sgd), Err(Error::Value(_))));
    }
}
