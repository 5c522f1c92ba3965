//! The format of model files: checksums see every change, names are distinct, and a file that
//! is none is not read to its end.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, Read};

use safetensors::SafeTensors;
use wyrmling::error::Error;
use wyrmling::io::model::Model;

use crate::NEVER;
use crate::model::{FORMAT, from_bytes, model, saved, without_checksums};

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
fn files_are_of_the_format_and_have_a_checksum_for_each_tensor() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    let bytes = saved(&model(1, 300, 500, 8));
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let about = header.metadata().clone().unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let mut expected = HashMap::from([("format".to_owned(), FORMAT.to_owned())]);
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
    assert_eq!(expected.len(), 10);
    assert_eq!(about, expected);
}

#[test]
fn every_flipped_bit_is_seen_or_means_nothing() {
    let original = model(1, 5, 4, 3);
    let valid = saved(&original);
    let data = 8 + u64::from_le_bytes(*valid.first_chunk().unwrap()) as usize;
    for at in 0..valid.len() {
        for bit in 0..8 {
            let mut bytes = valid.clone();
            bytes[at] ^= 1 << bit;
            match from_bytes(&bytes) {
                Ok(model) => assert!(at < data && model == original, "bit {bit} of byte {at}"),
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
    let original = model(1, 5, 4, 3);
    let text = saved(&original);
    assert_eq!(from_bytes(&without_checksums(&text)), Ok(original));
    for name in ["users", "train_items"] {
        // Another name of the same length in the place of the checksum's.
        let at = position(&text, &format!("\"crc32.{name}\""));
        let mut bytes = text.clone();
        bytes[at + 1] = b'x';
        let message = from_bytes(&bytes).unwrap_err().to_string();
        assert_eq!(
            message,
            format!("it has no checksum of {name}, but of other tensors")
        );
    }
}

fn position(bytes: &[u8], text: &str) -> usize {
    let mut windows = bytes.windows(text.len());
    windows.position(|found| found == text.as_bytes()).unwrap()
}

/// A file with this header, and data of zeros.
fn with_header(header: &str, data: usize) -> Vec<u8> {
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
fn what_is_no_model_is_not_read_to_its_end() {
    let valid = saved(&model(1, 5, 4, 3));
    let header = u64::from_le_bytes(*valid.first_chunk().unwrap());
    let replaced = |old: &str, new: &str| {
        let at = position(&valid, old);
        let mut bytes = valid.clone();
        bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
        bytes
    };
    for (start, len, most, says) in [
        (&b""[..], 0, 0, "do not hold a header"),
        (b"short", 5, 0, "do not hold a header"),
        (b"GIF89a and a film", u64::MAX, 8, "expected at most"),
        (&valid, 100, 8, "do not hold a header"),
        (&valid, 1 << 40, 8 + header, "it has 1099511627776 bytes"),
        (
            &replaced("factorisation/1", "factorisation/2"),
            1 << 40,
            8 + header,
            "its format is",
        ),
        (
            &replaced("\"shape\"", "\"shapf\""),
            1 << 40,
            8 + header,
            "missing field `shape`",
        ),
        (
            &replaced("\"users\"", "\"usors\""),
            valid.len() as u64,
            8 + header,
            "no tensor \"users\"",
        ),
    ] {
        let read = &Cell::new(0);
        let source = Endless { start, read };
        let error = Model::read(source, len, &NEVER).unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(read.get() <= most, "{} bytes read: {error}", read.get());
    }
}
