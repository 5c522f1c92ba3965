//! Models: they come back as they were, and no file can do harm.

use std::collections::HashMap;
use std::fs;

use ndarray::{Array1, Array2, array, s};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView, serialize};
use wyrmling::error::{Error, Result};
use wyrmling::io::Ids;
use wyrmling::io::model::{Model, ModelView};
use wyrmling::rank::{Csr, Factors, top_k};

use crate::NEVER;
use crate::directory::Directory;
use crate::price::price;

pub fn model(seed: u64, n: usize, m: usize, d: usize) -> Model {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut number = || rng.random::<f32>() - 0.5;
    let users = Array2::from_shape_simple_fn((n, d), &mut number);
    let items = Array2::from_shape_simple_fn((m, d), &mut number);
    let item_bias = Array1::from_shape_simple_fn(m, &mut number);
    let user: Vec<u32> = (0..2 * n).map(|_| rng.random_range(0..n as u32)).collect();
    let item: Vec<u32> = (0..2 * n).map(|_| rng.random_range(0..m as u32)).collect();
    let ids = |name: &str, count| Ids::from_strings((0..count).map(|i| format!("{name} {i}")));
    Model {
        users,
        items,
        item_bias,
        user_ids: ids("us\u{e9}r", n).unwrap(),
        item_ids: ids("item", m).unwrap(),
        train: Csr::from_pairs(&user, &item, n, m).unwrap(),
    }
}

/// A model that was loaded must be safe to use, whatever file it came from.
fn use_it(model: &Model) {
    let bias = Some(model.item_bias.view());
    let factors = Factors::new(model.users.view(), model.items.view(), bias).unwrap();
    match top_k(&factors, Some(&model.train), 5, &NEVER) {
        Ok(best) => assert_eq!(best.ids.len(), model.user_ids.len() * best.k),
        Err(error) => assert!(matches!(error, Error::NotFinite(_)), "{error:?}"),
    }
    assert_eq!(model.user_ids.iter().count(), model.users.nrows());
    assert_eq!(model.item_ids.iter().count(), model.items.nrows());
}

pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
    Model::read(bytes, bytes.len() as u64, &NEVER)
}

pub fn saved(model: &Model) -> Vec<u8> {
    let directory = Directory::new();
    let path = directory.file("model.safetensors");
    model.view().save(&path, &NEVER).unwrap();
    assert_eq!(directory.names(), ["model.safetensors"]);
    fs::read(path).unwrap()
}

#[test]
fn models_come_back_and_equal_models_are_equal_files() {
    for (seed, n, m, d) in [(1, 7, 5, 3), (2, 1, 1, 0), (3, 40, 60, 16)] {
        let model = model(seed, n, m, d);
        let bytes = saved(&model);
        assert_eq!(from_bytes(&bytes), Ok(model.clone()));
        assert_eq!(saved(&model), bytes);
    }
}

#[test]
fn arrays_of_any_strides_are_saved() {
    let model = model(4, 6, 9, 4);
    let users = model.users.t().as_standard_layout().to_owned();
    let mut wide = Array2::zeros((9, 8));
    wide.slice_mut(s![.., ..;2]).assign(&model.items);
    let directory = Directory::new();
    let path = directory.file("m");
    let view = ModelView {
        users: users.t(),
        items: wide.slice(s![.., ..;2]),
        ..model.view()
    };
    view.save(&path, &NEVER).unwrap();
    assert_eq!(Model::load(&path, &NEVER), Ok(model));
}

#[test]
fn saving_replaces_a_file_or_leaves_it() {
    let directory = Directory::new();
    let path = directory.file("model");
    let (old, new) = (model(1, 3, 4, 2), model(2, 5, 4, 2));
    old.view().save(&path, &NEVER).unwrap();
    new.view().save(&path, &NEVER).unwrap();
    assert_eq!(Model::load(&path, &NEVER).as_ref(), Ok(&new));

    let mut broken = old.clone();
    broken.items[[1, 0]] = f32::NAN;
    let error = broken.view().save(&path, &NEVER).unwrap_err();
    assert_eq!(
        error.to_string(),
        "items at (1, 0) is NaN, expected a finite number"
    );
    let mut broken = old.clone();
    broken.user_ids = Ids::from_strings(["a"]).unwrap();
    assert!(matches!(
        broken.view().save(&path, &NEVER),
        Err(Error::Shape(_))
    ));
    assert_eq!(Model::load(&path, &NEVER).as_ref(), Ok(&new));

    for path in [
        directory.file("no/such/place"),
        directory.0.clone(),
        "/".into(),
        "".into(),
    ] {
        let error = old.view().save(&path, &NEVER).unwrap_err();
        assert!(matches!(error, Error::File(_)), "{path:?}: {error:?}");
    }
    assert_eq!(directory.names(), ["model"]);
}

#[test]
fn what_is_not_a_model_is_refused() {
    let directory = Directory::new();
    for path in [directory.file("missing"), directory.0.clone()] {
        assert!(
            matches!(Model::load(&path, &NEVER), Err(Error::File(_))),
            "{path:?}"
        );
    }
    let path = directory.file("text");
    for text in ["", "short", "user,item\n1,2\n"] {
        fs::write(&path, text).unwrap();
        let error = Model::load(&path, &NEVER).unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{error:?}");
        assert!(
            error.to_string().contains("text is not a valid model"),
            "{error}"
        );
    }
}

/// By name, element type, shape and bytes.
pub type Tensors = HashMap<&'static str, (Dtype, Vec<usize>, Vec<u8>)>;

/// The tensors of a small valid model: 2 users, 3 items, 1 factor.
pub fn tensors() -> Tensors {
    let f32s = |numbers: &[f32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let u64s = |numbers: &[u64]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let u32s = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    HashMap::from([
        ("users", (Dtype::F32, vec![2, 1], f32s(&[0.5, 1.0]))),
        ("items", (Dtype::F32, vec![3, 1], f32s(&[1.0, 2.0, 3.0]))),
        ("item_bias", (Dtype::F32, vec![3], f32s(&[0.0, 0.0, 1.0]))),
        ("user_ids", (Dtype::U8, vec![3], b"abb".to_vec())),
        ("user_id_offsets", (Dtype::U64, vec![3], u64s(&[0, 1, 3]))),
        (
            "item_ids",
            (Dtype::U8, vec![3], "x\u{e9}".as_bytes().to_vec()),
        ),
        (
            "item_id_offsets",
            (Dtype::U64, vec![4], u64s(&[0, 1, 3, 3])),
        ),
        ("train_indptr", (Dtype::U64, vec![3], u64s(&[0, 2, 3]))),
        ("train_items", (Dtype::U32, vec![3], u32s(&[0, 2, 1]))),
    ])
}

pub fn file(tensors: &Tensors, format: &str) -> Vec<u8> {
    let views = tensors.iter().map(|(name, (dtype, shape, bytes))| {
        (
            *name,
            TensorView::new(*dtype, shape.clone(), bytes).unwrap(),
        )
    });
    let about = HashMap::from([("format".to_owned(), format.to_owned())]);
    serialize(views, Some(about)).unwrap()
}

/// A file of this version as an earlier one would have written it.
pub fn without_checksums(bytes: &[u8]) -> Vec<u8> {
    let tensors = SafeTensors::deserialize(bytes).unwrap();
    let about = HashMap::from([("format".to_owned(), FORMAT.to_owned())]);
    serialize(tensors.iter(), Some(about)).unwrap()
}

pub const FORMAT: &str = "wyrmling.factorisation/1";

#[test]
fn models_that_contradict_themselves_are_refused() {
    let valid = from_bytes(&file(&tensors(), FORMAT)).unwrap();
    assert_eq!(valid.users, array![[0.5], [1.0]]);
    assert!(valid.item_ids.iter().eq(["x", "\u{e9}", ""]));
    assert!(from_bytes(&file(&tensors(), "wyrmling.factorisation/2")).is_err());

    type Numbers<'a> = &'a [u64];
    let offsets = |numbers: Numbers| {
        let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        (Dtype::U64, vec![numbers.len()], bytes)
    };
    let f32s = |shape: &[usize], numbers: &[f32]| {
        let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        (Dtype::F32, shape.to_vec(), bytes)
    };
    let u32s = |numbers: &[u32]| {
        let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        (Dtype::U32, vec![numbers.len()], bytes)
    };
    let text = |bytes: &[u8]| (Dtype::U8, vec![bytes.len()], bytes.to_vec());
    // (tensor, content, something the message says)
    for (name, content, says) in [
        (
            "users",
            f32s(&[2, 1], &[f32::NAN, 0.0]),
            "users at (0, 0) is NaN",
        ),
        (
            "items",
            f32s(&[3, 1], &[0.0, f32::INFINITY, 0.0]),
            "items at (1, 0) is inf",
        ),
        (
            "item_bias",
            f32s(&[3], &[0.0, 0.0, -f32::INFINITY]),
            "item_bias at 2 is -inf",
        ),
        (
            "users",
            f32s(&[2], &[0.0, 0.0]),
            "users is F32 with 1 axes, expected F32 with 2",
        ),
        (
            "users",
            (Dtype::U32, vec![2, 1], vec![0; 8]),
            "users is U32",
        ),
        (
            "users",
            f32s(&[3, 1], &[0.0; 3]),
            "ids are about 2 users and 3 items",
        ),
        ("users", f32s(&[2, 2], &[0.0; 4]), "same number of columns"),
        ("users", f32s(&[usize::MAX, 0], &[]), "users"),
        ("users", f32s(&[0, usize::MAX], &[]), "users"),
        ("users", f32s(&[0, 1], &[]), "0 users and 3 items"),
        ("items", f32s(&[2, 1], &[0.0; 2]), "train_items"),
        ("items", f32s(&[0, 1], &[]), "train_items"),
        ("item_bias", f32s(&[2], &[0.0; 2]), "found 2 for 3 items"),
        ("user_ids", text(b"a\xff\xff"), "user_ids is not UTF-8"),
        ("user_ids", text(b"abbb"), "must run from 0 to 4"),
        ("user_ids", text(&[]), "must run from 0 to 0"),
        ("user_id_offsets", offsets(&[0, 0, 3]), ""),
        ("user_id_offsets", offsets(&[0, 3, 3]), ""),
        ("user_id_offsets", offsets(&[0, 4, 3]), "must not fall"),
        (
            "user_id_offsets",
            offsets(&[0, u64::MAX, 3]),
            "must not fall",
        ),
        (
            "user_id_offsets",
            offsets(&[1, 1, 3]),
            "must run from 0 to 3",
        ),
        ("user_id_offsets", offsets(&[0, 3]), "ids are about 1 users"),
        ("user_id_offsets", offsets(&[]), "is empty"),
        (
            "item_id_offsets",
            offsets(&[0, 1, 2, 3]),
            "must not divide a character, found 2",
        ),
        (
            "item_id_offsets",
            offsets(&[0, 3, 3, 3]),
            "ids must differ, found \"\" twice",
        ),
        (
            "train_indptr",
            offsets(&[0, 2, 2]),
            "train_items: indptr must run from 0 to 3",
        ),
        ("train_indptr", offsets(&[0, 4, 3]), "must not fall"),
        (
            "train_indptr",
            offsets(&[0, 2, 3, 3]),
            "training items are about 3 users",
        ),
        ("train_indptr", offsets(&[0, 3, 3]), "rise within a row"),
        (
            "train_items",
            u32s(&[0, 3, 1]),
            "indices[1] is 3, expected less than 3",
        ),
        (
            "train_items",
            u32s(&[2, 2, 1]),
            "rise within a row, found 2 before 2 in row 0",
        ),
        ("train_items", u32s(&[0, 2]), "must run from 0 to 2"),
        ("other", u32s(&[0]), "it has a tensor \"other\""),
    ] {
        let mut tensors = tensors();
        tensors.insert(name, content);
        let result = from_bytes(&file(&tensors, FORMAT));
        if says.is_empty() {
            use_it(&result.unwrap());
            continue;
        }
        let message = result.unwrap_err().to_string();
        assert!(message.contains(says), "{name}: {message}");
    }
    for name in tensors().keys() {
        let mut tensors = tensors();
        tensors.remove(name);
        let message = from_bytes(&file(&tensors, FORMAT)).unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
    }
}

/// Loads bytes, holds the price against their number, and uses what came of it.
fn survive(bytes: &[u8]) -> Option<Model> {
    let (result, held) = price(|| from_bytes(bytes));
    // The model, what is sorted and hashed to check it, and a header of JSON.
    let most = 4 * bytes.len() + 50 * (1 << 14);
    assert!(held <= most, "{held} bytes held to load {}", bytes.len());
    result.ok().inspect(use_it)
}

#[test]
fn hostile_headers() {
    let valid = file(&tensors(), FORMAT);
    let with_header = |header: &str, rest: &[u8]| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(rest);
        bytes
    };
    for length in [
        0,
        1,
        7,
        1 << 14,
        (1 << 14) + 1,
        99_999_999,
        1 << 40,
        u64::MAX - 7,
        u64::MAX,
    ] {
        let mut bytes = valid.clone();
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        assert_eq!(survive(&bytes), None);
        bytes.resize(1 << 16, b'[');
        assert_eq!(survive(&bytes), None);
        bytes[8..].fill(b' ');
        assert_eq!(survive(&bytes), None);
    }
    let entry = |name: usize, end: usize| {
        format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[{end}],\"data_offsets\":[0,{end}]}}")
    };
    let many: Vec<String> = (0..250).map(|name| entry(name, 0)).collect();
    let headers = [
        "{}".into(),
        "[".repeat(16_000),
        "{\"a\":".repeat(3_000),
        format!("{{\"users\":{{\"shape\":[{}0]}}}}", "0,".repeat(8_000)),
        // Parsed, each number of two bytes would take 32.
        format!("{{\"users\":{{\"shape\":[{}0]}}}}", "0,".repeat(1_000_000)),
        format!("{{{}}}", many.join(",")),
        format!("{{{},{}}}", entry(0, 4), entry(0, 4)),
        format!("{{{}}}", entry(0, usize::MAX)),
        format!("{{\"__metadata__\":{{\"format\":\"{FORMAT}\"}}}}"),
        "{\"__metadata__\":{},\"__metadata__\":{}}".into(),
        "{\"users\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}"
            .into(),
    ];
    for header in headers {
        assert_eq!(survive(&with_header(&header, b"")), None);
        assert_eq!(survive(&with_header(&header, &[0; 64])), None);
    }
}

#[test]
fn ten_thousand_mutations() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(20);
    let original = model(1, 12, 17, 4);
    let bytes = saved(&original);
    let files = [file(&tensors(), FORMAT), without_checksums(&bytes), bytes];
    let mut loaded = [0; 3];
    for round in 0..10_000 {
        let mut bytes = files[round % 3].clone();
        let header = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
        for _ in 0..rng.random_range(1..=3) {
            let len = bytes.len().max(1);
            // Every other place is in the header, where structure is.
            let end = if rng.random() {
                len
            } else {
                len.min(8 + header)
            };
            let at = rng.random_range(0..end);
            match rng.random_range(0..7) {
                _ if bytes.is_empty() => bytes.push(rng.random()),
                0 => bytes[at] ^= 1 << rng.random_range(0..8),
                1 => bytes[at] = rng.random(),
                2 => bytes.truncate(at),
                3 => bytes.insert(at, rng.random()),
                4 => drop(bytes.remove(at)),
                // A header length near the true one, or anything.
                5 if bytes.len() >= 8 => {
                    let near = (header as u64).wrapping_add_signed(rng.random_range(-9..=9));
                    let length = if rng.random() { near } else { rng.random() };
                    bytes[..8].copy_from_slice(&length.to_le_bytes());
                }
                // A digit: another offset or shape.
                _ => {
                    let digit = (at..len).find(|&at| bytes[at].is_ascii_digit());
                    bytes[digit.unwrap_or(at)] = b'0' + rng.random_range(0..10);
                }
            }
        }
        let Some(model) = survive(&bytes) else {
            continue;
        };
        loaded[round % 3] += 1;
        assert!(round % 3 < 2 || model == original, "damage is not seen");
    }
    // Some only change a number in the arrays, or a letter in an id. Those that a checksum does
    // not refuse change spaces behind the header.
    assert!(
        (100..3_000).contains(&loaded[1]),
        "{loaded:?} of 3333 each loaded"
    );
    assert!(
        (1..300).contains(&loaded[2]),
        "{loaded:?} of 3333 each loaded"
    );
}

#[test]
fn loading_holds_a_small_multiple_of_the_file() {
    let bytes = saved(&model(3, 3_000, 2_000, 8));
    assert!(survive(&bytes).is_some());
}
