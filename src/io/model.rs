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
//! and the metadata `format` = `wyrmling.factorisation/1`. A reader accepts exactly
//! this.
//!
//! # Promises
//!
//! A file appears complete or not at all: it is written beside its destination,
//! synced, and renamed. Loading trusts nothing. Whatever the bytes, it ends in a
//! model that keeps every invariant (finite numbers, distinct ids, offsets in
//! range) or in an error, and allocates at most a few times the size of the file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewD};
use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, TensorView, View};

use super::beside::Beside;
use super::ids::quoted;
use super::{Ids, file_error};
use crate::error::{Error, Result};
use crate::rank::{Csr, Factors};

/// One entry says name and version: several would stand in random order, and
/// equal models would not be equal files.
const FORMAT: (&str, &str) = ("format", "wyrmling.factorisation/1");

/// The header of a model is far shorter; a longer one is not parsed, for what
/// parsing allocates is many times its length.
const LONGEST_HEADER: u64 = 1 << 14;

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

    /// Reads a model file.
    ///
    /// # Errors
    ///
    /// [`Error::File`] when the system refuses to read it; [`Error::Value`] when it
    /// is not a model file, or one that contradicts itself.
    pub fn load(path: &Path) -> Result<Model> {
        let refused = |error| file_error(path, &error);
        // A device or a pipe could be read for ever.
        if !fs::metadata(path).map_err(refused)?.is_file() {
            return Err(Error::File(format!(
                "{} is not a regular file, expected a model",
                path.display()
            )));
        }
        let bytes = fs::read(path).map_err(refused)?;
        Model::from_bytes(&bytes).map_err(|error| {
            Error::Value(format!("{} is not a valid model: {error}", path.display()))
        })
    }

    /// Decodes the content of a model file.
    ///
    /// # Errors
    ///
    /// As [`Model::load`], without the name of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        let header = bytes
            .first_chunk()
            .map_or(0, |&len| u64::from_le_bytes(len));
        if header > LONGEST_HEADER {
            return Err(Error::Value(format!(
                "its header has {header} bytes, expected at most {LONGEST_HEADER}"
            )));
        }
        let invalid = |error| Error::Value(format!("{error}"));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(invalid)?;
        let format = header
            .metadata()
            .as_ref()
            .and_then(|about| about.get(FORMAT.0));
        if format.map(String::as_str) != Some(FORMAT.1) {
            return Err(Error::Value(format!(
                "its format is {}, expected {}",
                format.map_or("not given".into(), |format| quoted(format)),
                FORMAT.1
            )));
        }
        decode(&SafeTensors::deserialize(bytes).map_err(invalid)?)
    }
}

impl ModelView<'_> {
    /// Writes a model file. An existing file is replaced, at once and only by a
    /// complete one.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] when the parts do not fit together, [`Error::NotFinite`]
    /// when a number is not finite, [`Error::File`] when the system refuses.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.check()?;
        let refused = |error| file_error(path, &error);
        // Renaming onto a device would replace it.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Error::File(format!(
                "{} exists and is not a regular file, expected a place for a model",
                path.display()
            )));
        }
        let beside = Beside::new(path).map_err(refused)?;
        let about = HashMap::from([(FORMAT.0.to_owned(), FORMAT.1.to_owned())]);
        safetensors::serialize_to_file(self.tensors(), Some(about), beside.path()).map_err(
            |error| match error {
                SafeTensorError::IoError(error) => refused(error),
                error => Error::Value(format!("{}: {error}", path.display())),
            },
        )?;
        beside.move_to(path).map_err(refused)
    }

    /// What every model keeps: parts that fit together, and finite numbers.
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
        check_finite("users", self.users.indexed_iter())?;
        check_finite("items", self.items.indexed_iter())?;
        check_finite("item_bias", self.item_bias.indexed_iter())
    }

    fn tensors(&self) -> [(&'static str, Tensor<'_>); 9] {
        [
            ("users", Tensor::f32(self.users.into_dyn())),
            ("items", Tensor::f32(self.items.into_dyn())),
            ("item_bias", Tensor::f32(self.item_bias.into_dyn())),
            ("user_ids", Tensor::u8(self.user_ids.text())),
            ("user_id_offsets", Tensor::u64(self.user_ids.offsets())),
            ("item_ids", Tensor::u8(self.item_ids.text())),
            ("item_id_offsets", Tensor::u64(self.item_ids.offsets())),
            ("train_indptr", Tensor::u64(self.train.indptr())),
            ("train_items", Tensor::u32(self.train.indices())),
        ]
    }
}

/// A tensor to be written.
struct Tensor<'a> {
    shape: Vec<usize>,
    numbers: Numbers<'a>,
}

enum Numbers<'a> {
    F32(ArrayViewD<'a, f32>),
    U8(&'a [u8]),
    U32(&'a [u32]),
    U64(&'a [usize]),
}

impl<'a> Tensor<'a> {
    fn f32(array: ArrayViewD<'a, f32>) -> Tensor<'a> {
        Tensor {
            shape: array.shape().to_vec(),
            numbers: Numbers::F32(array),
        }
    }

    fn u8(text: &'a str) -> Tensor<'a> {
        Tensor {
            shape: vec![text.len()],
            numbers: Numbers::U8(text.as_bytes()),
        }
    }

    fn u32(numbers: &'a [u32]) -> Tensor<'a> {
        Tensor {
            shape: vec![numbers.len()],
            numbers: Numbers::U32(numbers),
        }
    }

    fn u64(numbers: &'a [usize]) -> Tensor<'a> {
        Tensor {
            shape: vec![numbers.len()],
            numbers: Numbers::U64(numbers),
        }
    }
}

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        match self.numbers {
            Numbers::F32(_) => Dtype::F32,
            Numbers::U8(_) => Dtype::U8,
            Numbers::U32(_) => Dtype::U32,
            Numbers::U64(_) => Dtype::U64,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match &self.numbers {
            Numbers::F32(array) => encode(array.iter(), |number| number.to_le_bytes()).into(),
            Numbers::U8(bytes) => (*bytes).into(),
            Numbers::U32(numbers) => encode(numbers.iter(), |number| number.to_le_bytes()).into(),
            Numbers::U64(numbers) => {
                encode(numbers.iter(), |&number| (number as u64).to_le_bytes()).into()
            }
        }
    }

    fn data_len(&self) -> usize {
        match &self.numbers {
            Numbers::F32(array) => array.len() * 4,
            Numbers::U8(bytes) => bytes.len(),
            Numbers::U32(numbers) => numbers.len() * 4,
            Numbers::U64(numbers) => numbers.len() * 8,
        }
    }
}

fn encode<T, const N: usize>(
    numbers: impl ExactSizeIterator<Item = T>,
    to_bytes: impl Fn(T) -> [u8; N],
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(numbers.len() * N);
    numbers.for_each(|number| bytes.extend_from_slice(&to_bytes(number)));
    bytes
}

fn decode(file: &SafeTensors) -> Result<Model> {
    let parts = Parts { file };
    let model = Model {
        users: parts.matrix("users")?,
        items: parts.matrix("items")?,
        item_bias: parts
            .vector("item_bias", Dtype::F32, f32::from_le_bytes)?
            .into(),
        user_ids: parts.ids("user_ids", "user_id_offsets")?,
        item_ids: parts.ids("item_ids", "item_id_offsets")?,
        train: Csr::from_parts(
            parts.offsets("train_indptr")?,
            parts.vector("train_items", Dtype::U32, u32::from_le_bytes)?,
            parts.tensor("items", Dtype::F32, 2)?.shape()[0],
        )
        .map_err(|error| Error::Value(format!("train_items: {error}")))?,
    };
    let view = model.view();
    let known = view.tensors().map(|(name, _)| name);
    if let Some(name) = file.names().into_iter().find(|name| !known.contains(name)) {
        return Err(Error::Value(format!(
            "it has a tensor {}, expected only {}",
            quoted(name),
            known.join(", ")
        )));
    }
    view.check()?;
    Ok(model)
}

/// The tensors of a file whose header agrees with its length.
struct Parts<'a> {
    file: &'a SafeTensors<'a>,
}

impl<'a> Parts<'a> {
    fn tensor(&self, name: &str, dtype: Dtype, axes: usize) -> Result<TensorView<'a>> {
        let tensor = (self.file.tensor(name)).map_err(|error| Error::Value(format!("{error}")))?;
        if tensor.dtype() != dtype || tensor.shape().len() != axes {
            return Err(Error::Value(format!(
                "{name} is {} with {} axes, expected {dtype} with {axes}",
                tensor.dtype(),
                tensor.shape().len()
            )));
        }
        Ok(tensor)
    }

    /// The elements of a tensor with one axis.
    fn vector<T, const N: usize>(
        &self,
        name: &str,
        dtype: Dtype,
        from_bytes: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>> {
        let (elements, _) = self.tensor(name, dtype, 1)?.data().as_chunks();
        Ok(elements.iter().map(|&bytes| from_bytes(bytes)).collect())
    }

    fn matrix(&self, name: &str) -> Result<Array2<f32>> {
        let tensor = self.tensor(name, Dtype::F32, 2)?;
        let (elements, _) = tensor.data().as_chunks();
        let elements = elements.iter().map(|&bytes| f32::from_le_bytes(bytes));
        Array2::from_shape_vec((tensor.shape()[0], tensor.shape()[1]), elements.collect())
            .map_err(|error| Error::Value(format!("{name}: {error}")))
    }

    fn offsets(&self, name: &str) -> Result<Vec<usize>> {
        let offsets = self.vector(name, Dtype::U64, u64::from_le_bytes)?;
        let offsets = offsets
            .into_iter()
            .map(usize::try_from)
            .collect::<Result<_, _>>();
        offsets.map_err(|_| Error::Value(format!("{name} exceed the memory of this machine")))
    }

    fn ids(&self, text: &str, offsets: &str) -> Result<Ids> {
        let bytes = self.vector(text, Dtype::U8, |[byte]| byte)?;
        let string = String::from_utf8(bytes)
            .map_err(|error| Error::Value(format!("{text} is not UTF-8: {error}")))?;
        Ids::from_parts(string, self.offsets(offsets)?)
            .map_err(|error| Error::Value(format!("{text}: {error}")))
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
