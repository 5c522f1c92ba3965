//! Files of tensors: they come back as they were, checksums see every change, names are distinct,
//! and no file is read to its end without need. What else a file may try is in `hostile.rs`.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView, serialize};
use wyrmling::error::{Error, Result};
use wyrmling::io::tensors::{self, Contents, Tensor, layout, load};

use crate::NEVER;
use crate::directory::Directory;

pub type Owned = Contents<Tensor<Vec<u8>>>;

pub const FORMAT: &str = "example/1";
/// Element types and their bytes.
pub const TYPES: [(&str, usize); 11] = [
    ("U8", 1),
    ("I8", 1),
    ("F32", 4),
    ("U16", 2),
    ("F64", 8),
    ("I64", 8),
    ("F16", 2),
    ("U64", 8),
    ("I16", 2),
    ("I32", 4),
    ("U32", 4),
];

/// A tensor of each type, of up to three axes.
pub fn contents(seed: u64) -> Owned {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let tensors = TYPES.iter().enumerate().map(|(number, (dtype, size))| {
        let axes = number % 4;
        let shape: Vec<usize> = (0..axes).map(|_| rng.random_range(0..7)).collect();
        let bytes = (0..shape.iter().product::<usize>() * size).map(|_| rng.random());
        let (dtype, bytes) = ((*dtype).to_owned(), bytes.collect());
        (
            format!("tensor {number}"),
            Tensor {
                dtype,
                shape,
                bytes,
            },
        )
    });
    Contents {
        format: FORMAT.to_owned(),
        about: BTreeMap::from([("se\"ed\u{e9}".to_owned(), format!("{seed}\n"))]),
        tensors: tensors.collect(),
    }
}

pub fn save(contents: &Owned, path: &Path, stop: &AtomicBool) -> Result<()> {
    let borrowed = contents.tensors.iter().map(|(name, tensor)| {
        let (dtype, shape) = (tensor.dtype.clone(), tensor.shape.clone());
        let bytes = &tensor.bytes[..];
        (
            name.clone(),
            Tensor {
                dtype,
                shape,
                bytes,
            },
        )
    });
    let contents = Contents {
        format: contents.format.clone(),
        about: contents.about.clone(),
        tensors: borrowed.collect(),
    };
    tensors::save(path, &contents, stop)
}

pub fn read_file(path: &Path, stop: &AtomicBool) -> Result<Owned> {
    load(path, &["another/7", FORMAT], stop)
}

pub fn from_bytes(bytes: &[u8]) -> Result<Owned> {
    tensors::read(&mut &*bytes, bytes.len() as u64, &[FORMAT], &NEVER)
}

pub fn saved(contents: &Owned) -> Vec<u8> {
    let directory = Directory::new();
    let path = directory.file("a.safetensors");
    save(contents, &path, &NEVER).unwrap();
    assert_eq!(directory.names(), ["a.safetensors"]);
    fs::read(path).unwrap()
}

/// A file as another program would write it, without checksums.
pub fn without_checksums(bytes: &[u8]) -> Vec<u8> {
    let tensors = SafeTensors::deserialize(bytes).unwrap();
    let about = HashMap::from([("format".to_owned(), FORMAT.to_owned())]);
    serialize(tensors.iter(), Some(about)).unwrap()
}

/// A file as earlier versions wrote it, with checksums of tensors alone.
fn without_own_checksum(bytes: &[u8]) -> Vec<u8> {
    let name = "\"crc32.__metadata__\":";
    let at = position(bytes, name);
    let mut older = bytes.to_vec();
    let entry = at..at + name.len() + "\"00000000\",".len();
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) - entry.len() as u64;
    older.drain(entry);
    older[..8].copy_from_slice(&length.to_le_bytes());
    older
}

/// CRC-32 as ISO 3309 defines it, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |mut remainder: u32, &byte| {
        remainder ^= u32::from(byte);
        for _ in 0..8 {
            let low = remainder & 1;
            remainder = (remainder >> 1) ^ (0xedb8_8320 * low);
        }
        remainder
    })
}

#[test]
fn tensors_come_back_and_equal_contents_are_equal_files() {
    let empty = Contents {
        format: FORMAT.to_owned(),
        about: BTreeMap::new(),
        tensors: BTreeMap::new(),
    };
    for contents in [contents(1), contents(2), empty] {
        let bytes = saved(&contents);
        assert_eq!(from_bytes(&bytes), Ok(contents.clone()));
        assert_eq!(saved(&contents), bytes);
        let places = layout(&mut &*bytes, bytes.len() as u64, &[FORMAT]).unwrap();
        assert_eq!(places.about, contents.about);
        for (name, place) in places.tensors {
            let start = place.start as usize;
            let found = &bytes[start..start + place.len];
            assert_eq!(found, contents.tensors[&name].bytes);
        }
    }
}

#[test]
fn files_are_of_the_format_and_have_a_checksum_for_each_tensor() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    let contents = contents(3);
    let bytes = saved(&contents);
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let about = header.metadata().clone().unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let mut expected = HashMap::from([("format".to_owned(), FORMAT.to_owned())]);
    expected.extend(contents.about.clone());
    for (name, tensor) in tensors.iter() {
        let checksum = format!("{:08x}", crc32(tensor.data()));
        expected.insert(format!("crc32.{name}"), checksum);
        let at = tensor.data().as_ptr() as usize - bytes.as_ptr() as usize;
        assert_eq!(
            at * 8 % tensor.dtype().bitsize(),
            0,
            "{name} is not aligned"
        );
    }
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let header = str::from_utf8(&bytes[8..8 + length]).unwrap();
    let own = about["crc32.__metadata__"].clone();
    assert_eq!(header.matches(&own).count(), 1);
    let checksum = crc32(header.replace(&own, "00000000").as_bytes());
    expected.insert("crc32.__metadata__".to_owned(), format!("{checksum:08x}"));
    assert_eq!(about, expected);
}

#[test]
fn what_cannot_be_written_changes_nothing() {
    let directory = Directory::new();
    let path = directory.file("a");
    let valid = contents(1);
    save(&valid, &path, &NEVER).unwrap();
    let with = |name: &str, dtype: &str, shape: &[usize], bytes: usize| {
        let mut changed = valid.clone();
        let (dtype, shape, bytes) = (dtype.to_owned(), shape.to_vec(), vec![0; bytes]);
        let tensor = Tensor {
            dtype,
            shape,
            bytes,
        };
        changed.tensors.insert(name.to_owned(), tensor);
        changed
    };
    let about = |name: &str, text: &str| {
        let mut changed = valid.clone();
        changed.about.insert(name.to_owned(), text.to_owned());
        changed
    };
    for (changed, says) in [
        (with("x", "BOOL", &[1], 1), "the element type \"BOOL\""),
        (with("x", "f32", &[1], 4), "the element type \"f32\""),
        (with("x", "F32", &[2], 4), "x has 4 bytes"),
        (with("x", "F32", &[], 0), "x has 0 bytes"),
        (with("x", "F32", &[usize::MAX, 8], 0), "x has 0 bytes"),
        (with("__metadata__", "U8", &[1], 1), "has the name"),
        (about("format", "x"), "has the name \"format\""),
        (about("crc32.x", "x"), "has the name \"crc32.x\""),
        (about("x", &"x".repeat(1 << 20)), "expected at most 1048576"),
    ] {
        let error = save(&changed, &path, &NEVER).unwrap_err();
        assert!(
            matches!(error, Error::Value(_) | Error::Shape(_)),
            "{error:?}"
        );
        assert!(error.to_string().contains(says), "{error}");
    }
    for path in [
        directory.file("no/such/place"),
        directory.0.clone(),
        "/".into(),
        "".into(),
    ] {
        let error = save(&valid, &path, &NEVER).unwrap_err();
        assert!(matches!(error, Error::File(..)), "{path:?}: {error:?}");
    }
    assert_eq!(read_file(&path, &NEVER), Ok(valid));
    assert_eq!(directory.names(), ["a"]);
}

#[test]
fn every_flipped_bit_is_seen_or_means_nothing() {
    let original = contents(1);
    let valid = saved(&original);
    let data = 8 + u64::from_le_bytes(*valid.first_chunk().unwrap()) as usize;
    let start = position(&valid, "crc32.__metadata__");
    let name = start..start + "crc32.".len();
    for at in 0..valid.len() {
        for bit in 0..8 {
            let mut bytes = valid.clone();
            bytes[at] ^= 1 << bit;
            match from_bytes(&bytes) {
                // A header whose checksum has another name is one of a file without.
                Ok(found) => {
                    assert!(name.contains(&at), "bit {bit} of byte {at}");
                    assert_eq!(found.tensors, original.tensors);
                    assert_eq!(found.about.len(), 2);
                    assert!(original.about.iter().all(|(k, v)| found.about[k] == *v));
                }
                Err(Error::Value(message)) => {
                    let says = message.contains("is damaged: the checksum of its bytes is");
                    assert!(at < data || says, "{message}");
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

#[test]
fn checksums_are_there_for_all_tensors_or_for_none() {
    let original = contents(1);
    let text = without_own_checksum(&saved(&original));
    assert_eq!(from_bytes(&text), Ok(original.clone()));
    let read = from_bytes(&without_checksums(&text)).unwrap();
    assert_eq!(read.tensors, original.tensors);
    for name in ["tensor 1", "tensor 7"] {
        // Another name of the same length in the place of the checksum's.
        let at = position(&text, &format!("\"crc32.{name}\""));
        let mut bytes = text.clone();
        bytes[at + 1] = b'x';
        let message = from_bytes(&bytes).unwrap_err().to_string();
        assert_eq!(
            message,
            format!("it has no checksum of {name:?}, but of other tensors")
        );
    }
}

fn position(bytes: &[u8], text: &str) -> usize {
    let mut windows = bytes.windows(text.len());
    windows.position(|found| found == text.as_bytes()).unwrap()
}

/// A file with this header, and data of zeros.
pub fn with_header(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

#[test]
fn names_that_occur_twice_are_refused() {
    let about = format!("\"__metadata__\":{{\"format\":\"{FORMAT}\"}}");
    let users = r#""users":{"dtype":"F32","shape":[0,1],"data_offsets":[0,0]}"#;
    for (header, name) in [
        (format!("{{{about},{users},{users}}}"), "users"),
        // The same name, spelt otherwise.
        (
            format!(
                "{{{about},{users},{}}}",
                users.replace("users", "\\u0075sers")
            ),
            "users",
        ),
        (format!("{{{about},{users},{about}}}"), "__metadata__"),
        (about.replace("{\"", "{\"format\":\"other\",\""), "format"),
        (
            about.replace("{\"", "{\"crc32.users\":\"0\",\"crc32.users\":\"1\",\""),
            "crc32.users",
        ),
        (
            format!(
                "{{{about},{}}}",
                users.replace("[0,1],", "[0,1],\"shape\":[0,2],")
            ),
            "shape",
        ),
        // Where nobody would look.
        (
            format!("{{{about},\"x\":{{\"y\":[1,{{\"z\":1,\"z\":2.5}}]}}}}"),
            "z",
        ),
    ] {
        let header = match header.starts_with('{') {
            true => header,
            false => format!("{{{header}}}"),
        };
        let message = from_bytes(&with_header(&header, 0))
            .unwrap_err()
            .to_string();
        let says = format!("{name:?} is there twice");
        assert!(message.contains(&says), "{header}: {message}");
    }
}

/// A file without end, which counts what is read of it.
struct Endless<'a> {
    start: &'a [u8],
    read: &'a Cell<u64>,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self.start.read(buffer)? {
            0 => {
                buffer.fill(b' ');
                buffer.len()
            }
            read => read,
        };
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

#[test]
fn what_is_of_another_format_is_not_read_to_its_end() {
    let valid = without_own_checksum(&saved(&contents(1)));
    let header = u64::from_le_bytes(*valid.first_chunk().unwrap());
    let replaced = |old: &str, new: &str| {
        let at = position(&valid, old);
        let mut bytes = valid.clone();
        bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
        bytes
    };
    let size = valid.len() as u64;
    for (start, len, most, says) in [
        (&b""[..], 0, 0, "do not hold a header"),
        (b"short", 5, 0, "do not hold a header"),
        (b"GIF89a and a film", u64::MAX, 8, "expected at most"),
        (&valid, 100, 8, "do not hold a header"),
        (&valid, 1 << 40, 8 + header, "it has 1099511627776 bytes"),
        (
            &replaced("example/1", "example/2"),
            size,
            8 + header,
            "its format is \"example/2\", expected example/1",
        ),
        (
            &replaced("\"format\"", "\"formed\""),
            size,
            8 + header,
            "it names no format",
        ),
        (
            &replaced("\"shape\"", "\"shapf\""),
            size,
            8 + header,
            "missing field `shape`",
        ),
        (
            &replaced("\"tensor 1\"", "\"tensor x\""),
            size,
            8 + header,
            "it has no checksum of \"tensor x\"",
        ),
    ] {
        let read = &Cell::new(0);
        let mut source = Endless { start, read };
        let error = tensors::read(&mut source, len, &[FORMAT], &NEVER).unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(read.get() <= most, "{} bytes read: {error}", read.get());
    }
    let bool = TensorView::new(Dtype::BOOL, vec![1], &[2]).unwrap();
    let about = HashMap::from([("format".to_owned(), FORMAT.to_owned())]);
    let bytes = serialize([("x", bool)], Some(about)).unwrap();
    let message = from_bytes(&bytes).unwrap_err().to_string();
    assert!(
        message.contains("\"x\" has the element type \"BOOL\""),
        "{message}"
    );
}

#[test]
fn what_is_no_file_of_tensors_is_refused() {
    let directory = Directory::new();
    for path in [directory.file("missing"), directory.0.clone()] {
        assert!(
            matches!(read_file(&path, &NEVER), Err(Error::File(..))),
            "{path:?}"
        );
    }
    let path = directory.file("text");
    for text in ["", "short", "user,item\n1,2\n"] {
        fs::write(&path, text).unwrap();
        let error = read_file(&path, &NEVER).unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{error:?}");
        assert!(error.to_string().contains("text: it"), "{error}");
    }
}
