//! Files that mean harm: reading one ends in tensors or in an error, and holds little memory.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::io::tensors::LONGEST_HEADER;

use crate::price::price;
use crate::tensors::{Owned, TYPES, contents, from_bytes, saved, with_header, without_checksums};

/// Reads bytes, and holds the price against their number.
fn survive(bytes: &[u8]) -> Option<Owned> {
    let (result, held) = price(|| from_bytes(bytes));
    // The tensors, and a header of JSON.
    let most = bytes.len() + 60 * LONGEST_HEADER as usize;
    assert!(held <= most, "{held} bytes held to read {}", bytes.len());
    let read = result.ok()?;
    for (name, tensor) in &read.tensors {
        let size = TYPES.iter().find(|(dtype, _)| **dtype == tensor.dtype);
        let count: usize = tensor.shape.iter().product();
        assert_eq!(tensor.bytes.len(), count * size.unwrap().1, "{name}");
    }
    Some(read)
}

#[test]
fn hostile_headers() {
    let valid = without_checksums(&saved(&contents(1)));
    let with_rest = |header: &str, rest: &[u8]| {
        let mut bytes = with_header(header, 0);
        bytes.extend(rest);
        bytes
    };
    for length in [
        0,
        1,
        7,
        LONGEST_HEADER,
        LONGEST_HEADER + 1,
        99_999_999,
        1 << 40,
        u64::MAX - 7,
        u64::MAX,
    ] {
        let mut bytes = valid.clone();
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        assert_eq!(survive(&bytes), None);
        bytes.resize(1 << 21, b'[');
        assert_eq!(survive(&bytes), None);
        bytes[8..].fill(b' ');
        assert_eq!(survive(&bytes), None);
    }
    let entry = |name: usize, end: usize| {
        format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[{end}],\"data_offsets\":[0,{end}]}}")
    };
    let many: Vec<String> = (0..12_000).map(|name| entry(name, 0)).collect();
    let headers = [
        "{}".into(),
        "[".repeat(1_000_000),
        "{\"a\":".repeat(180_000),
        format!("{{\"users\":{{\"shape\":[{}0]}}}}", "0,".repeat(500_000)),
        // Parsed, each number of two bytes would take 32.
        format!("{{\"users\":{{\"shape\":[{}0]}}}}", "0,".repeat(1_000_000)),
        format!("{{{}}}", many.join(",")),
        format!("{{{},{}}}", entry(0, 4), entry(0, 4)),
        format!("{{{}}}", entry(0, usize::MAX)),
        "{\"__metadata__\":{},\"__metadata__\":{}}".into(),
        "{\"users\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}"
            .into(),
    ];
    for header in headers {
        assert_eq!(survive(&with_rest(&header, b"")), None);
        assert_eq!(survive(&with_rest(&header, &[0; 64])), None);
    }
}

#[test]
fn ten_thousand_mutations() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(20);
    let original = contents(1);
    let bytes = saved(&original);
    let files = [without_checksums(&bytes), bytes];
    let mut read = [0; 2];
    for round in 0..10_000 {
        let mut bytes = files[round % 2].clone();
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
        let Some(found) = survive(&bytes) else {
            continue;
        };
        read[round % 2] += 1;
        // Checksums see a change of the numbers, though not of names, texts and shapes.
        let bytes_of = |contents: &Owned| {
            let all = contents.tensors.values().map(|tensor| tensor.bytes.clone());
            let mut all: Vec<_> = all.collect();
            all.sort();
            all
        };
        let same = bytes_of(&found) == bytes_of(&original);
        assert!(round % 2 == 0 || same, "damage is not seen");
    }
    assert!(read[0] > read[1] && read[1] > 0, "{read:?} of 5000 each");
}
