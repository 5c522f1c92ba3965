//! Training that goes on in another process: parameters, the state of their optimizer and the number of
//! epochs, in one file.
//!
//! A run of [`fit`](super::fit()) depends on its arguments, on the numbers of the parameters, on what the
//! optimizer remembers of them, and on the number of the epoch, by which all random numbers are drawn. The first
//! come with the call. The rest is in a file, by which another process goes on with the same bits.
//!
//! A file is in the safetensors format ([`tensors`]). For each parameter it holds `parameter.NAME`, and
//! `state.NAME.SLOT` for each array that the optimizer keeps beside it
//! ([`Rule::slot_names`](crate::optim::Rule::slot_names)); `training`, the UTF-8 of an object of JSON, has the
//! number of epochs and the optimizer's settings: a tensor, since tensors have checksums. A file need not be
//! trusted: reading it ends in what fits the parameters, or in an error, which changes nothing.
//!
//! Limit: the names of all tensors together have some 512 KB, for a header has 1 MB.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;

use crate::array::{Array, DType, Slice, View, show_shape};
use crate::error::{Error, Result};
use crate::io::tensors::{self, Contents, Tensor};
use crate::optim::{L2Per, Optimizer, Resumed, check_numbers};
use crate::table::{Param, Table};
use saved_setting::{SavedSetting, check_setting, compare, object, places, quoted};

mod saved_setting;

/// What a file of this kind says it is.
const FORMAT: &str = "wyrmling.checkpoint/1";
/// The tensor that has the settings.
const TRAINING: &str = "training";

/// A tensor of a checkpoint, or what it is in place of one of floats.
pub(crate) type GivenTensor<'a> = std::result::Result<View<'a>, String>;

/// Named parameters and their optimizer, which a file is written of and read into.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use wyrmling::optim::Optimizer;
/// use wyrmling::train::Checkpoint;
/// use wyrmling::{Input, Parameter};
///
/// let path = std::env::temp_dir().join(format!("wyrmling-run-{}.safetensors", std::process::id()));
/// let never = AtomicBool::new(false); // set by a handler of Ctrl-C, say
/// let step = |w: &Parameter, adam: &Optimizer| {
///     (w.clone() - 1.0).square().sum().backward();
///     adam.step_and_clear(&[w])
/// };
///
/// let (w, adam) = (Parameter::new(vec![0.0, 3.0]), Optimizer::adam(0.1)?);
/// step(&w, &adam)?;
/// Checkpoint::new([("w", &w)], &adam)?.save(&path, 1, &never)?;
/// step(&w, &adam)?;
///
/// let (other, resumed) = (Parameter::new(vec![0.0, 0.0]), Optimizer::adam(0.5)?);
/// assert_eq!(Checkpoint::new([("w", &other)], &resumed)?.load(&path, &never)?, 1);
/// step(&other, &resumed)?;
/// assert_eq!(other.value()?.to_f64(), w.value()?.to_f64());
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), wyrmling::Error>(())
/// ```
#[derive(Debug)]
pub struct Checkpoint<'a> {
    parameters: Vec<(String, Arc<Table>)>,
    optimizer: &'a Optimizer,
}

impl<'a> Checkpoint<'a> {
    /// Parameters by name, and their optimizer.
    ///
    /// # Errors
    /// [`Error::Value`] if two have one name, or one of them two.
    pub fn new<N: Into<String>, P: AsRef<Param>>(
        parameters: impl IntoIterator<Item = (N, P)>,
        optimizer: &'a Optimizer,
    ) -> Result<Self> {
        let named = parameters
            .into_iter()
            .map(|(name, parameter)| (name.into(), Arc::clone(parameter.as_ref().table())));
        Self::of(named.collect(), optimizer)
    }

    /// As [`new`](Self::new), of the parameters' tables.
    ///
    /// # Errors
    /// As for `new`.
    pub(crate) fn of(
        parameters: Vec<(String, Arc<Table>)>,
        optimizer: &'a Optimizer,
    ) -> Result<Self> {
        let names: Vec<&str> = parameters.iter().map(|(name, _)| &**name).collect();
        let places = places(&names);
        if let Some(name) = (0..).zip(&names).find(|(at, name)| places[**name] != *at) {
            return Err(Error::Value(format!(
                "parameters: {:?} is given twice, expected names that differ",
                name.1
            )));
        }
        let id = |(_, table): &(String, Arc<Table>)| table.id() as usize;
        let mut ids: Vec<(usize, usize)> = parameters.iter().map(id).zip(0..).collect();
        ids.sort_unstable();
        if let Some(same) = ids.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::Value(format!(
                "parameters: {:?} and {:?} are the same Parameter",
                names[same[0].1], names[same[1].1]
            )));
        }
        Ok(Checkpoint {
            parameters,
            optimizer,
        })
    }

    /// Writes a file after so many epochs, which replaces an existing one at once and only when it is complete.
    /// The learning rate is kept as it is at this moment. Numbers and state are copied twice meanwhile.
    ///
    /// # Errors
    /// [`Error::File`] if the system refuses, [`Error::Value`] if the names are too long, [`Error::Memory`],
    /// [`Error::State`] within a call that changes one of the parameters, and [`Error::Interrupted`] if `stop`
    /// was set before the file was complete.
    pub fn save(&self, path: &Path, epochs: u64, stop: &AtomicBool) -> Result<()> {
        let mut owned = BTreeMap::new();
        for (name, array) in self.arrays(Values::Replaced)? {
            let (dtype, bytes) = bytes_of(array.view().data);
            owned.insert(name, tensor(dtype, array.shape(), bytes));
        }
        let saved = self.saved();
        let object = |parts: Vec<(String, String)>| {
            let part = |(name, text)| format!("{}:{text}", Value::String(name));
            let parts: Vec<String> = parts.into_iter().map(part).collect();
            format!("{{{}}}", parts.join(","))
        };
        let training = object(vec![
            ("epochs".into(), epochs.to_string()),
            ("l2".into(), object(saved.l2)),
            ("optimizer".into(), saved.optimizer),
            ("settings".into(), object(saved.settings)),
        ]);
        let training = tensor("U8", &[training.len()], training.into_bytes());
        owned.insert(TRAINING.into(), training);
        let mut listed = BTreeMap::new();
        for (
            name,
            Tensor {
                dtype,
                shape,
                bytes,
            },
        ) in &owned
        {
            listed.insert(name.clone(), tensor(dtype, shape, &bytes[..]));
        }
        let mut about = BTreeMap::new();
        about.insert("wyrmling".into(), env!("CARGO_PKG_VERSION").into());
        let contents = Contents {
            format: FORMAT.into(),
            about,
            tensors: listed,
        };
        tensors::save(path, &contents, stop)
    }

    /// Reads a file into the parameters and their optimizer, whose learning rate becomes that of the file, and
    /// returns the number of epochs that had been trained.
    ///
    /// # Errors
    /// [`Error::File`] if the system refuses to read it; [`Error::Value`], [`Error::Shape`], [`Error::Type`] or
    /// [`Error::NotFinite`] if it is of another kind, damaged, or of other parameters, shapes, element types,
    /// optimizers or settings; [`Error::State`] if a parameter is being trained; [`Error::Memory`], and
    /// [`Error::Interrupted`] if `stop` was set. Nothing is changed then.
    pub fn load(&self, path: &Path, stop: &AtomicBool) -> Result<u64> {
        let mut read = tensors::load(path, &[FORMAT], stop)?.tensors;
        let training = read.remove(TRAINING).filter(|found| found.dtype == "U8");
        let training =
            training.ok_or_else(|| Error::Value(format!("it has no tensor {TRAINING:?} of U8")))?;
        let mut numbers = BTreeMap::new();
        for (name, tensor) in read {
            numbers.insert(name, (numbers_of(&tensor), tensor.shape));
        }
        let mut given = Vec::new();
        for (name, (numbers, shape)) in &numbers {
            let view = numbers.as_ref().map(|numbers| View {
                shape,
                data: numbers.view().data,
            });
            given.push((name.clone(), view.map_err(String::clone)));
        }
        let saved = object(TRAINING, &training.bytes)?;
        let wanted = ["optimizer", "settings", "l2", "epochs"];
        let places = compare(TRAINING, &saved, &wanted)?;
        let part = |name| &*saved[places[name]].1;
        let epochs = part("epochs").parse().map_err(|_| {
            let found = SavedSetting::of(part("epochs"));
            Error::Value(format!(
                "epochs is {found}, expected an integer of at least 0"
            ))
        })?;
        let settings = SavedSettings {
            optimizer: part("optimizer").to_owned(),
            settings: object("settings", part("settings").as_bytes())?,
            l2: object("l2", part("l2").as_bytes())?,
        };
        self.restore(&settings, &given, Values::Replaced)?;
        Ok(epochs)
    }

    /// Copies of the arrays that the optimizer keeps and of the parameters' numbers, if they belong to it, by the
    /// names of their tensors.
    ///
    /// # Errors
    /// As [`Optimizer::slots_of`].
    pub(crate) fn arrays(&self, values: Values) -> Result<Vec<(String, Array)>> {
        let mut found = Vec::new();
        for (name, table) in &self.parameters {
            let slots = self.optimizer.slots_of(table)?;
            if values == Values::Replaced {
                found.push((of_parameter(name), table.try_read()?));
            }
            let names = self.slots().iter().map(|slot| of_slot(name, slot));
            found.extend(names.zip(slots));
        }
        Ok(found)
    }

    /// What is saved beside the arrays.
    pub(crate) fn saved(&self) -> SavedSettings {
        let lr = SavedSetting::Number(self.optimizer.settings().lr);
        let mut settings = Vec::new();
        for (name, setting) in self.settings().into_iter().chain([("lr", lr)]) {
            settings.push((name.to_owned(), setting.json()));
        }
        let mut l2 = Vec::new();
        for (name, table) in &self.parameters {
            l2.push((name.clone(), self.l2(table).json()));
        }
        SavedSettings {
            optimizer: self.kind().json(),
            settings,
            l2,
        }
    }

    /// Puts back what [`arrays`](Self::arrays) and [`saved`](Self::saved) gave.
    ///
    /// # Errors
    /// As [`load`](Self::load), but for what files are. Nothing is changed then.
    pub(crate) fn restore(
        &self,
        saved: &SavedSettings,
        given: &[(String, GivenTensor<'_>)],
        values: Values,
    ) -> Result<()> {
        let (found, kind) = (SavedSetting::of(&saved.optimizer), self.kind());
        if found != kind {
            return Err(Error::Value(format!(
                "state: it is of {found:#}, expected that of {kind:#}"
            )));
        }
        let wanted = self.settings();
        let names: Vec<&str> = wanted.iter().map(|(name, _)| *name).chain(["lr"]).collect();
        let places = compare("settings", &saved.settings, &names)?;
        let setting = |name| SavedSetting::of(&saved.settings[places[name]].1);
        for (name, wanted) in wanted {
            check_setting(name, &setting(name), &wanted)?;
        }
        let names: Vec<&str> = self.parameters.iter().map(|(name, _)| &**name).collect();
        let places = compare("state", &saved.l2, &names)?;
        let mut expected = Vec::new();
        for (name, table) in &self.parameters {
            let found = SavedSetting::of(&saved.l2[places[&**name]].1);
            check_setting(&format!("l2 of {}", quoted(name)), &found, &self.l2(table))?;
            if values == Values::Replaced {
                expected.push(of_parameter(name));
            }
            expected.extend(self.slots().iter().map(|slot| of_slot(name, slot)));
        }
        let expected: Vec<&str> = expected.iter().map(|name| &**name).collect();
        let places = compare("tensors", given, &expected)?;
        let tensor = |name: &str| &given[places[name]].1;
        let mut resumed = Vec::new();
        for (name, table) in &self.parameters {
            let value = match values {
                Values::Kept => None,
                Values::Replaced => Some(parameter(name, table, tensor(&of_parameter(name)))?),
            };
            let slot = |slot: &&'static str| {
                let what = format!("state of {}: {slot}", quoted(name));
                let view = floats(&what, table.ty().dtype, tensor(&of_slot(name, slot)))?;
                if !view.data.is_finite() {
                    return Err(Error::Value(format!(
                        "{what} has NaN or infinity, expected finite numbers"
                    )));
                }
                check_numbers(&what, slot, view)?;
                Ok(view)
            };
            resumed.push(Resumed {
                table,
                slots: self.slots().iter().map(slot).collect::<Result<_>>()?,
                value,
            });
        }
        let SavedSetting::Number(lr) = setting("lr") else {
            let found = setting("lr");
            return Err(Error::Type(format!("lr is {found}, expected a float")));
        };
        self.optimizer.resume(lr, &resumed)
    }

    /// The name of the optimizer's rule.
    fn kind(&self) -> SavedSetting {
        SavedSetting::Text(self.optimizer.rule().settings().0.into())
    }

    /// The weight of the penalty of a parameter.
    fn l2(&self, table: &Table) -> SavedSetting {
        SavedSetting::Number(self.optimizer.settings_of(table).l2)
    }

    /// The names of the arrays that the optimizer keeps.
    fn slots(&self) -> &'static [&'static str] {
        self.optimizer.rule().slot_names()
    }

    /// The optimizer's settings but for the learning rate and the weights of penalties.
    fn settings(&self) -> Vec<(&'static str, SavedSetting)> {
        let all = self.optimizer.settings();
        let number = |(name, number)| (name, SavedSetting::Number(number));
        let own = self.optimizer.rule().settings().1.into_iter().map(number);
        let clip = all.clip.map_or(SavedSetting::None, SavedSetting::Number);
        let per = match all.l2_per {
            L2Per::Step => "step",
            L2Per::Sample => "sample",
        };
        own.chain([("clip", clip), ("l2_per", SavedSetting::Text(per.into()))])
            .collect()
    }
}

/// What is saved of an optimizer beside its arrays: texts of JSON, those of objects by name.
pub(crate) struct SavedSettings {
    /// The name of its rule.
    pub(crate) optimizer: String,
    /// All settings but the weights of penalties.
    pub(crate) settings: Vec<(String, String)>,
    /// The weight of the penalty of each parameter.
    pub(crate) l2: Vec<(String, String)>,
}

/// Whether numbers of parameters are put back.
#[cfg_attr(
    not(feature = "python"),
    allow(dead_code, reason = "Python alone restores state without numbers")
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    Replaced,
    /// Only state is.
    Kept,
}

/// The tensor of a parameter's numbers.
fn of_parameter(name: &str) -> String {
    format!("parameter.{name}")
}

/// The tensor of what is kept beside a parameter.
fn of_slot(name: &str, slot: &str) -> String {
    format!("state.{name}.{slot}")
}

/// A tensor, if it has floats of this type.
fn floats<'a>(what: &str, dtype: DType, given: &GivenTensor<'a>) -> Result<View<'a>> {
    match given {
        Ok(view) if view.data.dtype() == dtype => Ok(*view),
        given => {
            let found = match given {
                Ok(view) => format!("one of dtype {}", view.data.dtype()),
                Err(other) => other.clone(),
            };
            Err(Error::Type(format!(
                "{what}: expected an array of dtype {dtype}, got {found}"
            )))
        }
    }
}

/// The numbers of a parameter, if they fit its table.
fn parameter<'a>(name: &str, table: &Table, given: &GivenTensor<'a>) -> Result<View<'a>> {
    let (name, ty) = (quoted(name), table.ty());
    let view = floats(&format!("parameter {name}"), ty.dtype, given)?;
    if *view.shape != ty.shape[..] {
        return Err(Error::Shape(format!(
            "parameter {name} has shape {}, expected {}",
            show_shape(view.shape),
            show_shape(&ty.shape)
        )));
    }
    Ok(view)
}

/// A tensor of these bytes.
fn tensor<B>(dtype: &str, shape: &[usize], bytes: B) -> Tensor<B> {
    Tensor {
        dtype: dtype.to_owned(),
        shape: shape.to_vec(),
        bytes,
    }
}

/// The name that files have for the type of some numbers, and their bytes there.
fn bytes_of(numbers: Slice<'_>) -> (&'static str, Vec<u8>) {
    match numbers {
        Slice::F32(x) => ("F32", x.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Slice::F64(x) => ("F64", x.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Slice::U32(x) => ("U32", x.iter().flat_map(|x| x.to_le_bytes()).collect()),
    }
}

/// The floats of a tensor, or what it has in place of them.
fn numbers_of(tensor: &Tensor<Vec<u8>>) -> std::result::Result<Array, String> {
    fn read<T, const N: usize>(bytes: &[u8], number: fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks().0.iter().copied().map(number).collect()
    }
    match &*tensor.dtype {
        "F32" => Ok(read(&tensor.bytes, f32::from_le_bytes).into()),
        "F64" => Ok(read(&tensor.bytes, f64::from_le_bytes).into()),
        other => Err(format!("one of dtype {other}")),
    }
}
