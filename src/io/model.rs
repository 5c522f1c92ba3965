//! Model files: a trained factorisation, its ids and what each user has seen.
//!
//! The file is in the safetensors format (a JSON header, then raw little-endian
//! numbers), so that other tools can read it too. With n users, m items, d factors
//! and s distinct training pairs it holds
//!
//! | tensor | type | shape | content |
//! |---|---|---|---|
//! | `users`, `items` | F32 | (n, d), (m, d) | factors |
//! | `item_bias` | F32 | (m) | bias |
//! | `user_ids`, `item_ids` | U8 | | UTF-8 of all ids, one after the other |
//! | `user_id_offsets`, `item_id_offsets` | U64 | (n + 1), (m + 1) | where each id begins, and where the last ends |
//! | `train_indptr` | U64 | (n + 1) | where each user's training items begin, and where the last's end |
//! | `train_items` | U32 | (s) | training items, rising for each user |
//!
//! and the metadata `format` = `wyrmling.factorisation/1` and, by the name `crc32.t`,
//! the checksum of each tensor `t`. A reader accepts exactly these tensors; files of
//! earlier versions have no checksums, and are read.
//!
//! # Promises
//!
//! A file appears complete or not at all: it is written beside its destination,
//! synced, and renamed (`replace.rs`). Loading trusts nothing. Whatever the bytes, it
//! ends in a model that keeps every invariant (finite numbers, distinct ids, offsets in
//! range) or in an error, and allocates at most a few times the size of the file. A file
//! whose bytes changed since it was written is refused by a checksum, but for one change
//! in 2³²; checksums are no signature: who can write the file can write them too.

use std::collections::HashMap;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use safetensors::tensor::Dtype;

use super::replace::Replacement;
use super::tensors::{self, Elements, Expected, Loaded, Numbers, Tensor};
use super::{Ids, file_error};
use crate::error::{Error, Result};
use crate::rank::{Csr, Factors};

/// What the metadata says the file holds.
const FORMAT: &str = "wyrmling.factorisation/1";

/// The tensors of a file: name, element type, number of axes.
const TENSORS: [Expected; 9] = [
    ("users", Dtype::F32, 2),
    ("items", Dtype::F32, 2),
    ("item_bias", Dtype::F32, 1),
    ("user_ids", Dtype::U8, 1),
    ("user_id_offsets", Dtype::U64, 1),
    ("item_ids", Dtype::U8, 1),
    ("item_id_offsets", Dtype::U64, 1),
    ("train_indptr", Dtype::U64, 1),
    ("train_items", Dtype::U32, 1),
];

/// A factorisation: `score[u, i] = users[u] · items[i] + item_bias[i]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Factors of users, (n, d).
    pub users: Array2<f32>,
    /// Factors of items, (m, d).
    pub items: Array2<f32>,
    /// Bias of items, (m).
    pub item_bias: Array1<f32>,
    /// What the caller calls the users; n.
    pub user_ids: Ids,
    /// What the caller calls the items; m.
    pub item_ids: Ids,
    /// What the model was trained on, (n, m).
    pub train: Csr,
}

/// A model whose arrays belong to somebody else; see [`Model`] for the shapes.
#[derive(Debug, Clone, Copy)]
pub struct ModelView<'a> {
    /// Factors of users.
    pub users: ArrayView2<'a, f32>,
    /// Factors of items.
    pub items: ArrayView2<'a, f32>,
    /// Bias of items.
    pub item_bias: ArrayView1<'a, f32>,
    /// Ids of users.
    pub user_ids: &'a Ids,
    /// Ids of items.
    pub item_ids: &'a Ids,
    /// Training pairs.
    pub train: &'a Csr,
}

impl Model {
    /// The model without owning it.
    pub fn view(&self) -> ModelView<'_> {
        ModelView {
            users: self.users.view(),
            items: self.items.view(),
            item_bias: self.item_bias.view(),
            user_ids: &self.user_ids,
            item_ids: &self.item_ids,
            train: &self.train,
        }
    }

    /// Reads a model file. The first bytes are looked at before the others are read.
    ///
    /// # Errors
    ///
    /// [`Error::File`] when the system refuses to read it; [`Error::Value`] when it
    /// is not a model file, one that contradicts itself, or a damaged one;
    /// [`Error::Memory`] when there is no memory for it; [`Error::Interrupted`] when
    /// `stop` was set.
    pub fn load(path: &Path, stop: &AtomicBool) -> Result<Model> {
        let refused = |error| file_error(path, &error);
        // Reading a device or a pipe may never end, and opening a pipe waits for its writer.
        let regular = |found: fs::Metadata| match found.is_file() {
            true => Ok(found.len()),
            false => Err(Error::File(format!(
                "{} is not a regular file, expected a model",
                path.display()
            ))),
        };
        regular(fs::metadata(path).map_err(refused)?)?;
        let file = File::open(path).map_err(refused)?;
        let len = regular(file.metadata().map_err(refused)?)?;
        Model::read(file, len, stop).map_err(|error| match error {
            Error::File(error) => Error::File(format!("{}: {error}", path.display())),
            Error::Value(error) => {
                Error::Value(format!("{} is not a valid model: {error}", path.display()))
            }
            other => other,
        })
    }

    /// Decodes the content of a model file, which has `len` bytes.
    ///
    /// # Errors
    ///
    /// As [`Model::load`], without the name of a file.
    pub fn read(source: impl Read, len: u64, stop: &AtomicBool) -> Result<Model> {
        let mut parts = Parts(tensors::read(source, len, FORMAT, &TENSORS, stop)?);
        let items = parts.matrix("items")?;
        let model = Model {
            users: parts.matrix("users")?,
            item_bias: parts.floats("item_bias")?.1.into(),
            user_ids: parts.ids("user_ids", "user_id_offsets", stop)?,
            item_ids: parts.ids("item_ids", "item_id_offsets", stop)?,
            train: Csr::from_parts(
                parts.offsets("train_indptr")?,
                parts.indices("train_items")?,
                items.nrows(),
            )
            .map_err(|error| Error::Value(format!("train_items: {error}")))?,
            items,
        };
        let view = model.view();
        view.check().and_then(|()| view.check_finite())?;
        Ok(model)
    }
}

impl ModelView<'_> {
    /// Writes a model file. An existing file is replaced, at once and only by a
    /// complete one, which keeps its permissions; a symbolic link is followed.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] when the parts do not fit together, [`Error::NotFinite`]
    /// when a number is not finite, [`Error::File`] when the system refuses,
    /// [`Error::Interrupted`] when `stop` was set before the file was complete.
    pub fn save(&self, path: &Path, stop: &AtomicBool) -> Result<()> {
        self.check()?;
        self.check_finite()?;
        let refused = |error| file_error(path, &error);
        // The renaming would replace a device, too.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Error::File(format!(
                "{} exists and is not a regular file, expected a place for a model",
                path.display()
            )));
        }
        let replacement = Replacement::new(path).map_err(refused)?;
        tensors::write(replacement.file(), FORMAT, self.tensors(), stop).map_err(|error| {
            match error {
                Error::File(error) => Error::File(format!("{}: {error}", path.display())),
                other => other,
            }
        })?;
        replacement.finish().map_err(refused)
    }

    /// Whether the parts fit together.
    fn check(&self) -> Result<()> {
        let factors = Factors::new(self.users, self.items, Some(self.item_bias))?;
        let size = (factors.n_users(), factors.n_items());
        if size.0 == 0 || size.1 == 0 {
            return Err(Error::Shape(format!(
                "there are {} users and {} items, expected at least one of each",
                size.0, size.1
            )));
        }
        let ids = (self.user_ids.len(), self.item_ids.len());
        let train = (self.train.n_users(), self.train.n_items());
        for (name, found) in [("ids", ids), ("training items", train)] {
            if found != size {
                return Err(Error::Shape(format!(
                    "{name} are about {} users and {} items, the factors about {} and {}",
                    found.0, found.1, size.0, size.1
                )));
            }
        }
        Ok(())
    }

    fn check_finite(&self) -> Result<()> {
        check_finite("users", self.users.indexed_iter())?;
        check_finite("items", self.items.indexed_iter())?;
        check_finite("item_bias", self.item_bias.indexed_iter())
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        vec![
            Tensor::f32("users", self.users.into_dyn()),
            Tensor::f32("items", self.items.into_dyn()),
            Tensor::f32("item_bias", self.item_bias.into_dyn()),
            Tensor::vector("user_ids", Numbers::U8(self.user_ids.text().as_bytes())),
            Tensor::vector("user_id_offsets", Numbers::U64(self.user_ids.offsets())),
            Tensor::vector("item_ids", Numbers::U8(self.item_ids.text().as_bytes())),
            Tensor::vector("item_id_offsets", Numbers::U64(self.item_ids.offsets())),
            Tensor::vector("train_indptr", Numbers::U64(self.train.indptr())),
            Tensor::vector("train_items", Numbers::U32(self.train.indices())),
        ]
    }
}

/// The tensors of a file, each taken once.
struct Parts(HashMap<&'static str, Loaded>);

impl Parts {
    /// The error for a tensor that is not among [`TENSORS`] with this type, or is taken twice.
    fn missing(name: &str) -> Error {
        Error::Value(format!("it has no tensor {name:?} of the expected type"))
    }

    fn floats(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f32>)> {
        match self.0.remove(name) {
            Some(Loaded {
                shape,
                elements: Elements::F32(elements),
            }) => Ok((shape, elements)),
            _ => Err(Parts::missing(name)),
        }
    }

    fn matrix(&mut self, name: &str) -> Result<Array2<f32>> {
        let (shape, elements) = self.floats(name)?;
        let &[rows, columns] = &shape[..] else {
            return Err(Parts::missing(name));
        };
        Array2::from_shape_vec((rows, columns), elements)
            .map_err(|error| Error::Value(format!("{name}: {error}")))
    }

    fn indices(&mut self, name: &str) -> Result<Vec<u32>> {
        match self.0.remove(name).map(|tensor| tensor.elements) {
            Some(Elements::U32(elements)) => Ok(elements),
            _ => Err(Parts::missing(name)),
        }
    }

    fn offsets(&mut self, name: &str) -> Result<Vec<usize>> {
        let Some(Elements::U64(offsets)) = self.0.remove(name).map(|tensor| tensor.elements) else {
            return Err(Parts::missing(name));
        };
        let offsets = offsets
            .into_iter()
            .map(usize::try_from)
            .collect::<Result<_, _>>();
        offsets.map_err(|_| Error::Value(format!("{name} exceed the memory of this machine")))
    }

    fn ids(&mut self, text: &str, offsets: &str, stop: &AtomicBool) -> Result<Ids> {
        let Some(Elements::U8(bytes)) = self.0.remove(text).map(|tensor| tensor.elements) else {
            return Err(Parts::missing(text));
        };
        let string = String::from_utf8(bytes).map_err(|error| {
            Error::Value(format!("{text} is not UTF-8: {}", error.utf8_error()))
        })?;
        match Ids::checked(string, self.offsets(offsets)?, stop) {
            Err(Error::Value(error)) => Err(Error::Value(format!("{text}: {error}"))),
            ids => ids,
        }
    }
}

fn check_finite<'a, I: Debug>(
    name: &str,
    mut numbers: impl Iterator<Item = (I, &'a f32)>,
) -> Result<()> {
    match numbers.find(|(_, number)| !number.is_finite()) {
        None => Ok(()),
        Some((at, number)) => Err(Error::NotFinite(format!(
            "{name} at {at:?} is {number}, expected a finite number"
        ))),
    }
}
