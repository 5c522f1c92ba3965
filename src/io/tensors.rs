//! Files of tensors: the safetensors format, with texts by name and checksums of the header and of each
//! tensor.
//!
//! A file is the length of a header (u64, little-endian), the header (JSON: dtype, shape and
//! place of each tensor, and under `__metadata__` texts by name), and the numbers, little-endian.
//! The crate `safetensors` checks that the tensors cover the file without gap or overlap. This
//! file adds what the format lacks:
//!
//! - The metadata says by the name `format` what the file holds and in which version, and
//!   holds the CRC-32 (that of zlib and PNG) of the bytes of each tensor `t` as eight hexadecimal
//!   digits, by the name `crc32.t`. A file without any checksum is read, since earlier versions
//!   wrote none; one that has some must have all.
//! - `crc32.__metadata__` is the CRC-32 of the bytes of the header, with zeros for its own digits. Files
//!   of earlier versions have none.
//! - A name that occurs twice in an object of the header is refused. JSON leaves its meaning
//!   open, and readers differ in which they take.
//! - The format, and the length of the file, are checked before any number is read.
//! - Equal contents make equal files.
//!
//! What the tensors mean, and whether they fit together, is the caller's to check.
//!
//! # Promises
//!
//! A file appears complete or not at all: it is written beside its destination,
//! synced, and renamed (`replace.rs`). Reading trusts nothing. Whatever the bytes, it
//! ends in tensors of the lengths that their shapes say or in an error, and allocates at most
//! the size of the file and 64 MB. A file whose bytes changed since it was written is refused
//! by a checksum, but for one change in 2³²; checksums are no signature: who can write the
//! file can write them too.
//!
//! # Limits
//!
//! Element types are the integers of 8 to 64 bits and floats of 16 to 64: a boolean must be 0 or 1,
//! which no reader could rely on. The header has at most 1 MB, some 6,000 tensors.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use crc::{CRC_32_ISO_HDLC, Crc, Table};
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use serde_json::{Map, Value, json};

use super::ids::quoted;
use super::replace::Replacement;
use super::unique_names::UniqueNames;
use super::{PIECE, file_error, look};
use crate::error::{Error, Result};
use crate::order;

/// A longer header is refused before it is parsed, since parsing allocates many times its length.
pub const LONGEST_HEADER: u64 = 1 << 20;
/// The name in the metadata that says what a file holds, and in which version.
const FORMAT: &str = "format";
/// What the name of a tensor's checksum starts with.
const CHECKSUM: &str = "crc32.";
/// The name of the header's checksum. No tensor is called `__metadata__`.
const OF_HEADER: &str = "crc32.__metadata__";
/// The tables of the checksum. They are computed when a program first reads or writes a file: in the wheel they
/// would be 16 KB that no compression makes smaller.
static CRC: LazyLock<Crc<u32, Table<16>>> =
    LazyLock::new(|| Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC));

/// Numbers of one type, in C order and little-endian: `B` is `Vec<u8>` or `&[u8]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor<B> {
    /// Element type, as the format names it: `F32`, `I64`.
    pub dtype: String,
    /// Length along each axis.
    pub shape: Vec<usize>,
    /// The elements.
    pub bytes: B,
}

/// What a file holds: texts by name, without those that [`save`] adds, and tensors by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents<T> {
    /// What the file holds, and in which version.
    pub format: String,
    /// Texts by name.
    pub about: BTreeMap<String, String>,
    /// Tensors by name.
    pub tensors: BTreeMap<String, T>,
}

/// Where a tensor is in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorPlace {
    /// Element type, as the format names it.
    pub dtype: String,
    /// Length along each axis.
    pub shape: Vec<usize>,
    /// Where it begins, in bytes from the beginning of the file.
    pub start: u64,
    /// Bytes that it has.
    pub len: usize,
    /// The checksum of its bytes, if the file has checksums.
    pub checksum: Option<String>,
}

/// Writes a file. An existing file is replaced, at once and only by a complete one, which keeps
/// its permissions; a symbolic link is followed.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::atomic::AtomicBool;
/// use wyrmling::io::tensors::{Contents, Tensor, load, save};
///
/// let numbers: Vec<u8> = [0.5f32, 1.0].iter().flat_map(|x| x.to_le_bytes()).collect();
/// let weights = Tensor { dtype: "F32".into(), shape: vec![2], bytes: &numbers[..] };
/// let contents = Contents {
///     format: "example/1".into(),
///     about: BTreeMap::from([("epoch".into(), "3".into())]),
///     tensors: BTreeMap::from([("weights".into(), weights)]),
/// };
/// let path = std::env::temp_dir().join(format!("wyrmling-{}.safetensors", std::process::id()));
/// let never = AtomicBool::new(false);
/// save(&path, &contents, &never)?;
/// let read = load(&path, &["example/1"], &never)?;
/// assert_eq!(read.tensors["weights"].bytes, numbers);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), wyrmling::error::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Value`] for an element type that is not written, a name that is taken or a header that
/// is too long, [`Error::Shape`] for a tensor whose bytes are not as many as its shape says,
/// [`Error::File`] when the system refuses, [`Error::Interrupted`] when `stop` was set
/// before the file was complete.
pub fn save(path: &Path, contents: &Contents<Tensor<&[u8]>>, stop: &AtomicBool) -> Result<()> {
    let sorted = sorted(contents)?;
    let refused_here = |error| file_error(path, &error);
    let mut checksums = vec![0; sorted.len()];
    let mut start = header(contents, &sorted, &checksums)?;
    // The renaming would replace a device, too.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(not_regular(format!(
            "{} exists and is not a regular file, expected a place for a file of tensors",
            path.display()
        )));
    }
    let replacement = Replacement::new(path).map_err(refused_here)?;
    let mut target = replacement.file();
    target.write_all(&start).map_err(refused_here)?;
    // Each piece is copied before its checksum is taken: a Python thread that writes the array
    // meanwhile then spoils numbers, not the file.
    let mut buffer = Vec::new();
    for ((_, tensor, _), checksum) in sorted.iter().zip(&mut checksums) {
        let mut digest = CRC.digest();
        for piece in tensor.bytes.chunks(PIECE) {
            look(stop)?;
            buffer.clear();
            buffer.extend_from_slice(piece);
            digest.update(&buffer);
            target.write_all(&buffer).map_err(refused_here)?;
        }
        *checksum = digest.finalize();
    }
    // Now the checksums are known. They have as many digits as the zeros in their place, so the
    // header keeps its length.
    start = header(contents, &sorted, &checksums)?;
    target.seek(SeekFrom::Start(0)).map_err(refused_here)?;
    target.write_all(&start).map_err(refused_here)?;
    replacement.finish().map_err(refused_here)
}

/// A tensor as it is written, with its name and element type.
type Listed<'a> = (&'a String, &'a Tensor<&'a [u8]>, Dtype);

/// Tensors as they stand in the file: the largest elements come first, so that each is aligned.
fn sorted<'a>(contents: &'a Contents<Tensor<&'a [u8]>>) -> Result<Vec<Listed<'a>>> {
    let mut sorted = Vec::new();
    for (name, tensor) in &contents.tensors {
        let dtype = element_type(name, &tensor.dtype)?;
        let count = (tensor.shape.iter()).try_fold(dtype.bitsize() / 8, |n, &m| n.checked_mul(m));
        if count != Some(tensor.bytes.len()) {
            return Err(Error::Shape(format!(
                "{name} has {} bytes, expected those of {} numbers of shape {:?}",
                tensor.bytes.len(),
                tensor.dtype,
                tensor.shape
            )));
        }
        if name == "__metadata__" {
            return Err(Error::Value(format!(
                "a tensor has the name {name:?}, expected another"
            )));
        }
        sorted.push((name, tensor, dtype));
    }
    let reserved = |name: &&String| *name == FORMAT || name.starts_with(CHECKSUM);
    if let Some(name) = contents.about.keys().find(reserved) {
        return Err(Error::Value(format!(
            "a text has the name {}, expected another",
            quoted(name)
        )));
    }
    order::sort_by_key(&mut sorted, |(.., dtype)| usize::MAX - dtype.bitsize());
    Ok(sorted)
}

/// The element type of this name.
fn element_type(tensor: &str, name: &str) -> Result<Dtype> {
    use Dtype::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let known = [F64, I64, U64, F32, I32, U32, F16, I16, U16, I8, U8];
    known
        .into_iter()
        .find(|dtype| dtype.to_string() == name)
        .ok_or_else(|| {
            Error::Value(format!(
                "{} has the element type {}, expected one of {}",
                quoted(tensor),
                quoted(name),
                known.map(|dtype| dtype.to_string()).join(", ")
            ))
        })
}

/// The first bytes of a file: the length of the header and the header.
fn header<T>(contents: &Contents<T>, tensors: &[Listed<'_>], checksums: &[u32]) -> Result<Vec<u8>> {
    let text = |(name, text): (&String, &String)| (name.clone(), json!(text));
    let mut about: Map<_, _> = contents.about.iter().map(text).collect();
    about.insert(FORMAT.to_owned(), json!(contents.format));
    about.insert(OF_HEADER.to_owned(), json!(digits(0)));
    let mut entries = Map::new();
    let mut start = 0;
    for ((name, tensor, dtype), checksum) in tensors.iter().zip(checksums) {
        let end = start + tensor.bytes.len();
        let info = TensorInfo {
            dtype: *dtype,
            shape: tensor.shape.clone(),
            data_offsets: (start, end),
        };
        about.insert(format!("{CHECKSUM}{name}"), json!(digits(*checksum)));
        let info = serde_json::to_value(info).map_err(|error| Error::Value(error.to_string()))?;
        entries.insert((*name).clone(), info);
        start = end;
    }
    entries.insert("__metadata__".to_owned(), Value::Object(about));
    let mut text = Value::Object(entries).to_string().into_bytes();
    // Spaces behind the header align what follows.
    text.resize(text.len().next_multiple_of(8), b' ');
    let length = text.len() as u64;
    if length > LONGEST_HEADER {
        return Err(Error::Value(format!(
            "names, shapes and texts make a header of {length} bytes, expected at most \
             {LONGEST_HEADER}"
        )));
    }
    if let Some((own, checksum)) = header_checksum(&text) {
        text[own].copy_from_slice(digits(checksum).as_bytes());
    }
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.append(&mut text);
    Ok(bytes)
}

/// A checksum as a file shows it.
fn digits(checksum: u32) -> String {
    format!("{checksum:08x}")
}

/// The checksum of a header, and where its digits are in there: they count as zeros.
fn header_checksum(text: &[u8]) -> Option<(Range<usize>, u32)> {
    // Within a text quotes are escaped, so that these characters are a name and what follows it.
    let name = format!("\"{OF_HEADER}\":\"").into_bytes();
    let before = text.windows(name.len()).position(|found| found == name)?;
    let zeros = digits(0);
    let own = before + name.len()..before + name.len() + zeros.len();
    let rest = text.get(own.end..)?;
    let mut digest = CRC.digest();
    for part in [&text[..own.start], zeros.as_bytes(), rest] {
        digest.update(part);
    }
    Some((own, digest.finalize()))
}

/// Reads a file whose format is one of `formats`. The first bytes are looked at before the others
/// are read.
///
/// # Errors
///
/// [`Error::File`] when the system refuses to read it; [`Error::Value`] when it
/// has another format, contradicts itself, or is damaged;
/// [`Error::Memory`] when there is no memory for it; [`Error::Interrupted`] when
/// `stop` was set.
pub fn load(path: &Path, formats: &[&str], stop: &AtomicBool) -> Result<Contents<Tensor<Vec<u8>>>> {
    let refused_here = |error| file_error(path, &error);
    // Reading a device or a pipe may never end, and opening a pipe waits for its writer.
    let regular = |found: fs::Metadata| match found.is_file() {
        true => Ok(found.len()),
        false => Err(not_regular(format!(
            "{} is not a regular file, expected a file of tensors",
            path.display()
        ))),
    };
    regular(fs::metadata(path).map_err(refused_here)?)?;
    let mut file = File::open(path).map_err(refused_here)?;
    let len = regular(file.metadata().map_err(refused_here)?)?;
    read(&mut file, len, formats, stop).map_err(|error| match error {
        Error::File(error, kind) => Error::File(format!("{}: {error}", path.display()), kind),
        Error::Value(error) => Error::Value(format!("{}: {error}", path.display())),
        other => other,
    })
}

/// Decodes the content of a file, which has `len` bytes.
///
/// # Errors
///
/// As [`load`], without the name of a file.
pub fn read(
    source: &mut dyn Read,
    len: u64,
    formats: &[&str],
    stop: &AtomicBool,
) -> Result<Contents<Tensor<Vec<u8>>>> {
    look(stop)?;
    let places = layout(source, len, formats)?;
    // In the order of the file, for it is read once.
    let mut listed: Vec<_> = places.tensors.into_iter().collect();
    order::sort_by_key(&mut listed, |(_, place)| place.start as usize);
    let mut tensors = BTreeMap::new();
    for (name, place) in listed {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(place.len).map_err(|_| {
            Error::Memory(format!(
                "there is no memory for {} bytes of {name}",
                place.len
            ))
        })?;
        let mut digest = CRC.digest();
        while bytes.len() < place.len {
            look(stop)?;
            let from = bytes.len();
            bytes.resize(place.len.min(from + PIECE), 0);
            source.read_exact(&mut bytes[from..]).map_err(refused)?;
            digest.update(&bytes[from..]);
        }
        let found = digits(digest.finalize());
        if let Some(written) = place.checksum
            && written != found
        {
            return Err(Error::Value(format!(
                "{name} is damaged: the checksum of its bytes is {found}, expected {}",
                quoted(&written)
            )));
        }
        let TensorPlace { dtype, shape, .. } = place;
        tensors.insert(
            name,
            Tensor {
                dtype,
                shape,
                bytes,
            },
        );
    }
    Ok(Contents {
        format: places.format,
        about: places.about,
        tensors,
    })
}

/// Reads the header of a file that has `len` bytes and one of `formats`.
///
/// # Errors
///
/// As [`read`].
pub fn layout(source: &mut dyn Read, len: u64, formats: &[&str]) -> Result<Contents<TensorPlace>> {
    let (header, end) = read_header(source, len)?;
    let mut about = BTreeMap::new();
    about.extend(header.metadata().clone().unwrap_or_default());
    about.remove(OF_HEADER);
    let expected = formats.join(" or ");
    let Some(format) = about.remove(FORMAT) else {
        return Err(Error::Value(format!(
            "it names no format, expected {expected}"
        )));
    };
    if !formats.contains(&format.as_str()) {
        return Err(Error::Value(format!(
            "its format is {}, expected {expected}",
            quoted(&format)
        )));
    }
    let data = header.data_len() as u64;
    if end.checked_add(data) != Some(len) {
        return Err(Error::Value(format!(
            "it has {len} bytes, expected the {end} of the header and {data} of its tensors"
        )));
    }
    let mut tensors = BTreeMap::new();
    let mut missing = None;
    let mut checked = false;
    for name in header.offset_keys() {
        let Some(info) = header.info(&name) else {
            continue;
        };
        let (start, stop) = info.data_offsets;
        let checksum = about.remove(&format!("{CHECKSUM}{name}"));
        checked |= checksum.is_some();
        if checksum.is_none() {
            missing = missing.or(Some(name.clone()));
        }
        let dtype = info.dtype.to_string();
        element_type(&name, &dtype)?;
        let place = TensorPlace {
            dtype,
            shape: info.shape.clone(),
            start: end + start as u64,
            len: stop - start,
            checksum,
        };
        tensors.insert(name, place);
    }
    if let Some(name) = missing
        && checked
    {
        return Err(Error::Value(format!(
            "it has no checksum of {}, but of other tensors",
            quoted(&name)
        )));
    }
    if let Some(name) = about.keys().find(|name| name.starts_with(CHECKSUM)) {
        return Err(Error::Value(format!(
            "it has the checksum {}, but no such tensor",
            quoted(name)
        )));
    }
    Ok(Contents {
        format,
        about,
        tensors,
    })
}

/// The header, and where it ends.
fn read_header(source: &mut dyn Read, len: u64) -> Result<(Metadata, u64)> {
    let short = || Error::Value(format!("it has {len} bytes, which do not hold a header"));
    if len < 8 {
        return Err(short());
    }
    let mut length = [0; 8];
    source.read_exact(&mut length).map_err(refused)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER {
        return Err(Error::Value(format!(
            "it is no safetensors file, or its header is too long: {length} bytes, expected at most \
             {LONGEST_HEADER}"
        )));
    }
    let end = 8 + length;
    if end > len {
        return Err(short());
    }
    let mut text = vec![0; length as usize];
    source.read_exact(&mut text).map_err(refused)?;
    let invalid = |error| Error::Value(format!("its header is not valid: {error}"));
    serde_json::from_slice::<UniqueNames>(&text).map_err(invalid)?;
    let header: Metadata = serde_json::from_slice(&text).map_err(invalid)?;
    let about = header.metadata().as_ref();
    if let Some(written) = about.and_then(|about| about.get(OF_HEADER)) {
        let found = header_checksum(&text).map(|(_, checksum)| digits(checksum));
        if found.as_ref() != Some(written) {
            let found = found.unwrap_or_else(|| "not where it was written".to_owned());
            return Err(Error::Value(format!(
                "its header is damaged: the checksum of its bytes is {found}, expected {}",
                quoted(written)
            )));
        }
    }
    Ok((header, end))
}

/// The error of a file that the system refused, without its name, which callers add.
fn refused(error: std::io::Error) -> Error {
    Error::File(error.to_string(), error.kind())
}

fn not_regular(text: String) -> Error {
    Error::File(text, std::io::ErrorKind::InvalidInput)
}
