//! Files of tensors: the safetensors format, with a checksum for each tensor.
//!
//! A file is the length of a header (u64, little-endian), the header (JSON: dtype, shape and
//! place of each tensor, and under `__metadata__` texts by name), and the numbers, little-endian.
//! The crate `safetensors` checks that the tensors cover the file without gap or overlap. This
//! file adds what the format lacks:
//!
//! - The metadata holds the CRC-32 (that of zlib and PNG) of the bytes of each tensor `t` as
//!   eight hexadecimal digits, by the name `crc32.t`. A file without any checksum is read, since
//!   earlier versions wrote none; one that has some must have all.
//! - A name that occurs twice in an object of the header is refused. JSON leaves its meaning
//!   open, and readers differ in which they take.
//! - Names, types, and number of axes are checked, and the length of the file, before any number
//!   is read. Numbers are read piece by piece, into memory of their own type.
//! - Equal contents make equal files.

use std::collections::HashMap;
use std::fmt;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ndarray::ArrayViewD;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

use super::ids::quoted;
use crate::error::{Error, Result};

/// A longer header is refused before it is parsed, since parsing allocates many times its length. A
/// header that [`write()`] makes is far shorter.
const LONGEST_HEADER: u64 = 1 << 14;
/// Bytes read or written at once, between two looks at whether to stop.
const PIECE: usize = 1 << 20;
/// The name in the metadata that says what a file holds, and in which version.
const FORMAT: &str = "format";
/// What the name of a tensor's checksum starts with.
const CHECKSUM: &str = "crc32.";

/// A tensor to be written.
pub(super) struct Tensor<'a> {
    pub name: &'static str,
    pub shape: Vec<usize>,
    pub numbers: Numbers<'a>,
}

impl<'a> Tensor<'a> {
    /// An array of any strides.
    pub fn f32(name: &'static str, array: ArrayViewD<'a, f32>) -> Tensor<'a> {
        Tensor {
            name,
            shape: array.shape().to_vec(),
            numbers: Numbers::F32(array),
        }
    }

    /// Numbers along one axis.
    pub fn vector(name: &'static str, numbers: Numbers<'a>) -> Tensor<'a> {
        Tensor {
            name,
            shape: vec![numbers.len()],
            numbers,
        }
    }
}

/// The elements of a tensor, in C order.
pub(super) enum Numbers<'a> {
    F32(ArrayViewD<'a, f32>),
    U8(&'a [u8]),
    U32(&'a [u32]),
    U64(&'a [usize]),
}

impl Numbers<'_> {
    fn dtype(&self) -> Dtype {
        match self {
            Numbers::F32(_) => Dtype::F32,
            Numbers::U8(_) => Dtype::U8,
            Numbers::U32(_) => Dtype::U32,
            Numbers::U64(_) => Dtype::U64,
        }
    }

    fn len(&self) -> usize {
        match self {
            Numbers::F32(array) => array.len(),
            Numbers::U8(numbers) => numbers.len(),
            Numbers::U32(numbers) => numbers.len(),
            Numbers::U64(numbers) => numbers.len(),
        }
    }

    fn bytes(&self) -> usize {
        self.len() * self.dtype().bitsize() / 8
    }
}

/// Writes a file of tensors. A float that is not finite is refused; each piece is checked as it is
/// written, since another thread may change an array meanwhile.
///
/// # Errors
///
/// [`Error::File`] when the system refuses, [`Error::NotFinite`], [`Error::Interrupted`] when
/// stopped.
pub(super) fn write(
    mut target: impl Write + Seek,
    format: &str,
    mut tensors: Vec<Tensor<'_>>,
    stop: &AtomicBool,
) -> Result<()> {
    // The largest elements come first, so that each is aligned within the file.
    tensors.sort_by_key(|tensor| {
        (
            std::cmp::Reverse(tensor.numbers.dtype().bitsize()),
            tensor.name,
        )
    });
    let mut checksums = vec![0; tensors.len()];
    target
        .write_all(&header(format, &tensors, &checksums)?)
        .map_err(refused)?;
    for (tensor, checksum) in tensors.iter().zip(&mut checksums) {
        let mut sink = TensorWriter {
            target: &mut target,
            checksum: crc32fast::Hasher::new(),
            piece: vec![0; PIECE.min(tensor.numbers.bytes())],
            stop,
        };
        match &tensor.numbers {
            Numbers::F32(array) => {
                let mut infinite = None;
                sink.put(array.iter(), |number| {
                    if !number.is_finite() {
                        infinite = Some(*number);
                    }
                    number.to_le_bytes()
                })?;
                if let Some(number) = infinite {
                    return Err(Error::NotFinite(format!(
                        "{} has an element {number}, expected finite numbers",
                        tensor.name
                    )));
                }
            }
            Numbers::U8(numbers) => sink.put(numbers.iter(), |&number| [number])?,
            Numbers::U32(numbers) => sink.put(numbers.iter(), |number| number.to_le_bytes())?,
            Numbers::U64(numbers) => {
                sink.put(numbers.iter(), |&number| (number as u64).to_le_bytes())?;
            }
        }
        *checksum = sink.checksum.finalize();
    }
    // Now the checksums are known. They have as many digits as the zeros in their place, so the
    // header keeps its length.
    target.seek(SeekFrom::Start(0)).map_err(refused)?;
    target
        .write_all(&header(format, &tensors, &checksums)?)
        .map_err(refused)?;
    target.flush().map_err(refused)
}

/// The first bytes of a file: the length of the header and the header.
fn header(format: &str, tensors: &[Tensor<'_>], checksums: &[u32]) -> Result<Vec<u8>> {
    let mut about = Map::from_iter([(FORMAT.to_owned(), json!(format))]);
    let mut entries = Map::new();
    let mut start = 0;
    for (tensor, checksum) in tensors.iter().zip(checksums) {
        let end = start + tensor.numbers.bytes();
        let info = TensorInfo {
            dtype: tensor.numbers.dtype(),
            shape: tensor.shape.clone(),
            data_offsets: (start, end),
        };
        let name = tensor.name.to_owned();
        about.insert(format!("{CHECKSUM}{name}"), json!(digits(*checksum)));
        entries.insert(name, serde_json::to_value(info).map_err(invalid)?);
        start = end;
    }
    entries.insert("__metadata__".to_owned(), Value::Object(about));
    let mut text = Value::Object(entries).to_string().into_bytes();
    // Spaces behind the header align what follows.
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.append(&mut text);
    Ok(bytes)
}

/// A checksum as a file shows it.
fn digits(checksum: u32) -> String {
    format!("{checksum:08x}")
}

/// Where the bytes of one tensor go.
struct TensorWriter<'a, W> {
    target: &'a mut W,
    checksum: crc32fast::Hasher,
    piece: Vec<u8>,
    stop: &'a AtomicBool,
}

impl<W: Write> TensorWriter<'_, W> {
    /// Writes numbers piece by piece.
    fn put<T, const N: usize>(
        &mut self,
        mut numbers: impl ExactSizeIterator<Item = T>,
        mut to_bytes: impl FnMut(T) -> [u8; N],
    ) -> Result<()> {
        while numbers.len() > 0 {
            look(self.stop)?;
            let count = numbers.len().min(self.piece.len() / N);
            let piece = &mut self.piece[..count * N];
            let (places, _) = piece.as_chunks_mut::<N>();
            for (place, number) in places.iter_mut().zip(&mut numbers) {
                *place = to_bytes(number);
            }
            self.checksum.update(piece);
            self.target.write_all(piece).map_err(refused)?;
        }
        Ok(())
    }
}

/// What a reader expects of a tensor: name, element type and number of axes.
pub(super) type Expected = (&'static str, Dtype, usize);

/// A tensor that was read.
pub(super) struct Loaded {
    pub shape: Vec<usize>,
    pub elements: Elements,
}

/// The elements of a tensor that was read, in C order.
pub(super) enum Elements {
    F32(Vec<f32>),
    U8(Vec<u8>),
    U32(Vec<u32>),
    U64(Vec<u64>),
}

/// Reads a file of `len` bytes that holds these tensors and no others.
///
/// # Errors
///
/// [`Error::Value`] when it does not, [`Error::File`] when the system refuses to read it,
/// [`Error::Memory`], [`Error::Interrupted`] when stopped.
pub(super) fn read(
    mut source: impl Read,
    len: u64,
    format: &str,
    expected: &[Expected],
    stop: &AtomicBool,
) -> Result<HashMap<&'static str, Loaded>> {
    let (header, end) = read_header(&mut source, len)?;
    let about = header.metadata().as_ref();
    let found = about.and_then(|about| about.get(FORMAT));
    if found.map(String::as_str) != Some(format) {
        return Err(Error::Value(format!(
            "its format is {}, expected {format}",
            found.map_or("not given".into(), |found| quoted(found)),
        )));
    }
    let data = header.data_len() as u64;
    if end.checked_add(data) != Some(len) {
        return Err(Error::Value(format!(
            "it has {len} bytes, expected the {end} of the header and {data} of its tensors"
        )));
    }
    check_tensors(&header, expected)?;
    let checksums = checksums(&header, expected)?;

    let mut loaded = HashMap::new();
    for name in header.offset_keys() {
        let known = expected.iter().find(|(known, ..)| *known == name);
        let (Some(&(name, ..)), Some(info)) = (known, header.info(&name)) else {
            continue; // `check_tensors` has found them all.
        };
        let mut hasher = crc32fast::Hasher::new();
        let elements = read_elements(&mut source, info, &mut hasher, stop)?;
        let found = digits(hasher.finalize());
        if let Some(written) = checksums.get(name)
            && **written != found
        {
            return Err(Error::Value(format!(
                "{name} is damaged: the checksum of its bytes is {found}, expected {}",
                quoted(written)
            )));
        }
        let shape = info.shape.clone();
        loaded.insert(name, Loaded { shape, elements });
    }
    Ok(loaded)
}

/// The header, and where it ends.
fn read_header(source: &mut impl Read, len: u64) -> Result<(Metadata, u64)> {
    let short = || Error::Value(format!("it has {len} bytes, which do not hold a header"));
    if len < 8 {
        return Err(short());
    }
    let mut length = [0; 8];
    source.read_exact(&mut length).map_err(refused)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER {
        return Err(Error::Value(format!(
            "its header has {length} bytes, expected at most {LONGEST_HEADER}"
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
    Ok((serde_json::from_slice(&text).map_err(invalid)?, end))
}

/// Whether there is every tensor that is expected, as it is expected, and no other.
fn check_tensors(header: &Metadata, expected: &[Expected]) -> Result<()> {
    for &(name, dtype, axes) in expected {
        let info = (header.info(name))
            .ok_or_else(|| Error::Value(format!("it has no tensor {}", quoted(name))))?;
        if info.dtype != dtype || info.shape.len() != axes {
            return Err(Error::Value(format!(
                "{name} is {} with {} axes, expected {dtype} with {axes}",
                info.dtype,
                info.shape.len()
            )));
        }
    }
    let is_known = |name: &String| expected.iter().any(|(known, ..)| known == name);
    if let Some(name) = header.offset_keys().iter().find(|name| !is_known(name)) {
        let known: Vec<_> = expected.iter().map(|(known, ..)| *known).collect();
        return Err(Error::Value(format!(
            "it has a tensor {}, expected only {}",
            quoted(name),
            known.join(", ")
        )));
    }
    Ok(())
}

/// The checksum that the file gives for each tensor, or for none.
fn checksums<'a>(
    header: &'a Metadata,
    expected: &[Expected],
) -> Result<HashMap<&'a str, &'a String>> {
    let about = header.metadata().iter().flatten();
    let given: HashMap<&str, &String> = about
        .filter_map(|(name, text)| Some((name.strip_prefix(CHECKSUM)?, text)))
        .collect();
    let missing = (expected.iter()).find(|(name, ..)| !given.contains_key(name));
    match missing {
        Some((name, ..)) if !given.is_empty() => Err(Error::Value(format!(
            "it has no checksum of {name}, but of other tensors"
        ))),
        _ => Ok(given),
    }
}

fn read_elements(
    source: &mut impl Read,
    info: &TensorInfo,
    checksum: &mut crc32fast::Hasher,
    stop: &AtomicBool,
) -> Result<Elements> {
    let (start, end) = info.data_offsets;
    let mut stream = TensorReader {
        source,
        left: end - start,
        checksum,
        stop,
    };
    Ok(match info.dtype {
        Dtype::F32 => Elements::F32(stream.numbers(f32::from_le_bytes)?),
        Dtype::U8 => Elements::U8(stream.numbers(|[byte]| byte)?),
        Dtype::U32 => Elements::U32(stream.numbers(u32::from_le_bytes)?),
        Dtype::U64 => Elements::U64(stream.numbers(u64::from_le_bytes)?),
        other => return Err(Error::Value(format!("tensors of {other} are not read"))),
    })
}

/// The bytes of one tensor.
struct TensorReader<'a, R> {
    source: &'a mut R,
    left: usize,
    checksum: &'a mut crc32fast::Hasher,
    stop: &'a AtomicBool,
}

impl<R: Read> TensorReader<'_, R> {
    fn numbers<T, const N: usize>(&mut self, number: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let count = self.left / N;
        let mut numbers = Vec::new();
        numbers.try_reserve_exact(count).map_err(|_| {
            Error::Memory(format!(
                "there is no memory for a tensor of {count} numbers"
            ))
        })?;
        let mut piece = vec![0; PIECE.min(self.left)];
        while self.left > 0 {
            look(self.stop)?;
            let piece = &mut piece[..PIECE.min(self.left)];
            self.source.read_exact(piece).map_err(refused)?;
            self.checksum.update(piece);
            self.left -= piece.len();
            let (elements, _) = piece.as_chunks();
            numbers.extend(elements.iter().map(|&bytes| number(bytes)));
        }
        Ok(numbers)
    }
}

/// Any JSON in which no object has a name twice.
struct UniqueNames;

impl<'de> Deserialize<'de> for UniqueNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistinctVisitor)
    }
}

struct DistinctVisitor;

impl<'de> Visitor<'de> for DistinctVisitor {
    type Value = UniqueNames;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<UniqueNames, A::Error> {
        while items.next_element::<UniqueNames>()?.is_some() {}
        Ok(UniqueNames)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<UniqueNames, A::Error> {
        let mut names = std::collections::HashSet::new();
        while let Some(name) = entries.next_key::<String>()? {
            entries.next_value::<UniqueNames>()?;
            if names.contains(&name) {
                return Err(A::Error::custom(format!(
                    "{} is there twice",
                    quoted(&name)
                )));
            }
            names.insert(name);
        }
        Ok(UniqueNames)
    }
}

/// Whether the caller asked to stop.
pub(super) fn look(stop: &AtomicBool) -> Result<()> {
    if stop.load(Relaxed) {
        return Err(Error::Interrupted);
    }
    Ok(())
}

/// The error of a file that the system refused, which whoever knows its name adds to.
fn refused(error: std::io::Error) -> Error {
    Error::File(error.to_string())
}

fn invalid(error: serde_json::Error) -> Error {
    Error::Value(error.to_string())
}
