//! Interactions: every accepted form, and the line of every refused one.

use std::fs;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use wyrmling::error::{Error, Result};
use wyrmling::io::interactions::{Format, Interactions, Layout, parse, read};
use wyrmling::io::{Column, Delimiter, Taken};

use crate::NEVER;
use crate::directory::Directory;
use crate::price::price;

fn parsed(text: impl AsRef<[u8]>) -> Result<Interactions> {
    parse(text.as_ref(), "f.csv", &Format::default(), &NEVER)
}

/// The (user, item) ids of each line.
fn pairs(read: &Interactions) -> Vec<(&str, &str)> {
    (read.users.iter().zip(&read.items))
        .map(|(&user, &item)| {
            let user = read.user_ids.get(user as usize).unwrap();
            (user, read.item_ids.get(item as usize).unwrap())
        })
        .collect()
}

#[test]
fn delimiters_endings_and_blank_lines() {
    let expected = [("u", "i"), ("v", "i"), ("u", "j")];
    for delimiter in Delimiter::ALL.map(Delimiter::text) {
        for ending in ["\n", "\r\n", "\n\n", "\r\n \r\n", "\r", "\r \r"] {
            let with = |breaks: &'static str| match ending.contains('\n') {
                true => breaks.to_owned(),
                false => breaks.replace("\r\n", "\r").replace('\n', "\r"),
            };
            for start in [
                "",
                "\u{feff}",
                "\n \r\n",
                "\u{feff}\r\n",
                "\u{feff}\u{feff}",
            ] {
                for end in ["", "\n", "\r\n\r\n", "\n   \n\n"] {
                    let (start, end) = (with(start), with(end));
                    let lines = expected.map(|(user, item)| format!("{user}{delimiter} {item} "));
                    let text = format!("{start}{}{end}", lines.join(ending));
                    let read = parsed(&text).unwrap();
                    assert_eq!(pairs(&read), expected, "{text:?}");
                    assert_eq!(read.ratings, None);
                }
            }
        }
    }
}

#[test]
fn numbers_follow_first_appearance() {
    let read = parsed("b,y\na,x\nb,x\nc,z\na,y\n").unwrap();
    assert_eq!(read.users, [0, 1, 0, 2, 1]);
    assert_eq!(read.items, [0, 1, 1, 2, 0]);
    assert!(read.user_ids.iter().eq(["b", "a", "c"]));
    assert!(read.item_ids.iter().eq(["y", "x", "z"]));
}

#[test]
fn headers_are_found() {
    // (text, whether the first line is a header)
    for (text, header) in [
        (
            "user_id,item_id,rating,timestamp\n196,242,3.0,881250949",
            true,
        ),
        ("196,242,3.0,881250949\n186,302,3.0,891717742", false),
        ("196\t242\t3\t881250949", false),
        ("1::1193::5::978300760", false),
        ("userId::movieId\nann::tea", true),
        ("User ID\tBook\nann\ttea", true),
        ("\"user\",\"item\"\nann,tea", true),
        ("ann,tea\nbob,rye", false),
        ("ann,tea,5\nbob,rye,4", false),
        ("who,what\n1,tea", false),
        // A rating that is missing, and a third column that is none.
        ("ann,tea,\nbob,rye,4", false),
        ("ann,tea,jazz\nbob,rye,rock", false),
        ("user,item,genre\nbob,rye,rock", true),
        ("1,tea\nbob,rye", false),
        ("user,2\n1,2", false),
    ] {
        let format = Format {
            without_ratings: true,
            ..Format::default()
        };
        let read = parse(text.as_bytes(), "f.csv", &format, &NEVER).unwrap();
        let lines = text.lines().count();
        assert_eq!(read.users.len(), lines - usize::from(header), "{text:?}");
    }
}

#[test]
fn a_header_may_name_the_columns_in_any_order() {
    let read = parsed("timestamp,movieId,Rating,user-id\nx,rye,4.5,ann\ny,tea,3,bob").unwrap();
    assert_eq!(pairs(&read), [("ann", "rye"), ("bob", "tea")]);
    assert_eq!(read.ratings, Some(vec![4.5, 3.0]));
    // The third column is a rating unless the header says what the columns are.
    let read = parsed("user,item,day\nann,rye,monday").unwrap();
    assert_eq!(read.ratings, None);
}

#[test]
fn columns_are_known_or_given() {
    let name = |name: &str| Some(Column::Named(name.into()));
    // (text, user, item, rating, what comes of it)
    for (text, user, item, rating, expected) in [
        (
            "a,b,c\nann,rye,2",
            None,
            None,
            None,
            Err("give its name as user_column (--user-column)"),
        ),
        (
            "a,b\n1,2",
            None,
            None,
            None,
            Err("the columns \"a\", \"b\""),
        ),
        (
            "user,b\nann,rye",
            None,
            None,
            None,
            Err("give its name as item_column"),
        ),
        (
            "user,user_id,item\na,b,c",
            None,
            None,
            None,
            Err("one of the user, not several"),
        ),
        (
            "user,item,score,stars\na,b,1,2",
            None,
            None,
            None,
            Err("rating_column"),
        ),
        (
            "a,b,c\nann,rye,2",
            name("b"),
            name("a"),
            name("c"),
            Ok(("rye", "ann", Some(2.0))),
        ),
        // What is not given is found, and a rating that is not named is none.
        (
            "user,b,c\nann,rye,2",
            None,
            name("b"),
            None,
            Ok(("ann", "rye", None)),
        ),
        (
            "user,b,stars\nann,rye,2",
            None,
            name("b"),
            None,
            Ok(("ann", "rye", Some(2.0))),
        ),
        (
            "2,ann,rye",
            Some(Column::At(1)),
            Some(Column::At(2)),
            Some(Column::At(0)),
            Ok(("ann", "rye", Some(2.0))),
        ),
        (
            "x,ann,rye",
            Some(Column::At(2)),
            None,
            None,
            Ok(("rye", "ann", None)),
        ),
        (
            "a,b\nann,rye",
            name("c"),
            None,
            None,
            Err("expected \"c\" for the user"),
        ),
        ("a,a\nann,rye", name("a"), None, None, Err("\"a\" twice")),
        (
            "a,b\nann,rye",
            Some(Column::At(2)),
            None,
            None,
            Err("found 2 columns, expected one of number 2"),
        ),
        (
            "a,b\nann,rye",
            name("a"),
            name("a"),
            None,
            Err("user and item in the same column, \"a\""),
        ),
        (
            "a,b,1",
            Some(Column::At(0)),
            None,
            Some(Column::At(0)),
            Err("rating and user in the same"),
        ),
    ] {
        let format = Format {
            user,
            item,
            rating,
            ..Format::default()
        };
        let read = parse(text.as_bytes(), "f.csv", &format, &NEVER);
        match (read, expected) {
            (Ok(read), Ok((user, item, rating))) => {
                assert_eq!(pairs(&read), [(user, item)], "{text:?}");
                assert_eq!(read.ratings, rating.map(|r: f32| vec![r]), "{text:?}");
            }
            (Err(error), Err(says)) => {
                let message = error.to_string();
                assert!(message.starts_with("f.csv, line 1: "), "{message}");
                assert!(message.contains(says), "{text:?}: {message}");
            }
            (read, expected) => panic!("{text:?}: {read:?}, expected {expected:?}"),
        }
    }
    let format = Format {
        user: name("a"),
        header: Some(false),
        ..Format::default()
    };
    assert!(parse(&b"a,b\n1,2"[..], "f", &format, &NEVER).is_err());
    let read = parsed("day\tmovie\tuser\nx\trye\tann").unwrap();
    assert_eq!(
        read.layout,
        Layout {
            delimiter: Delimiter::Tab,
            user: Taken {
                at: 2,
                name: Some("user".into())
            },
            item: Taken {
                at: 1,
                name: Some("movie".into())
            },
            rating: None,
        }
    );
}

#[test]
fn ratings_may_be_left_out() {
    let format = Format {
        without_ratings: true,
        ..Format::default()
    };
    let read = |text: &str| parse(text.as_bytes(), "f", &format, &NEVER).unwrap();
    for text in ["1,2,2020-01-01\n1,3,\n", "user,item,rating\n1,2,x\n1,3,5\n"] {
        assert_eq!(read(text).ratings, None);
        assert_eq!(pairs(&read(text)), [("1", "2"), ("1", "3")]);
    }
}

#[test]
fn what_is_said_is_not_guessed() {
    let format = |delimiter, header| Format {
        delimiter,
        header,
        ..Format::default()
    };
    let text = "user,item\nns::a,x";
    let read = |format| parse(text.as_bytes(), "f", &format, &NEVER).unwrap();
    assert_eq!(pairs(&read(format(None, Some(false))))[0], ("user", "item"));
    let text = "ns::a,x\nns::b,y";
    let read = |format| parse(text.as_bytes(), "f", &format, &NEVER).unwrap();
    let commas = read(format(Some(Delimiter::Comma), None));
    assert_eq!(pairs(&commas), [("ns::a", "x"), ("ns::b", "y")]);
    let colons = read(Format {
        user: Some(Column::At(0)),
        item: Some(Column::At(1)),
        ..format(None, Some(true))
    });
    assert_eq!(pairs(&colons), [("ns", "b,y")]);
}

#[test]
fn quoted_fields() {
    let read = parsed("\"a,b\",\"say \"\"x\"\"\"\r\n\"line\nbreak\",\"i\"\r\n").unwrap();
    assert_eq!(pairs(&read), [("a,b", "say \"x\""), ("line\nbreak", "i")]);
    let read = parsed("\"a\tb\"\ti\n").unwrap();
    assert_eq!(pairs(&read), [("a\tb", "i")]);
    // There is no quoting with two colons.
    let read = parsed("\"a::b\"\n").unwrap();
    assert_eq!(pairs(&read), [("\"a", "b\"")]);
}

#[test]
fn bad_lines_are_named() {
    // (text, number of the bad line, something else the message says)
    for (text, line, says) in [
        ("abc", 1, "\"abc\""),
        ("abc\ndef", 1, "a comma, a tab, ; or | or ::"),
        ("a,b\nabc\nc,d", 2, "1 field in \"abc\", expected 2"),
        ("a,b\r\nc,d\r\n\r\n\r\ne,f,g\r\n", 5, "3 fields"),
        ("\n\na,b\n\n \nc\n", 6, "1 field"),
        ("a,b\n,d", 2, "an empty user"),
        ("a,b\nc,  ", 2, "an empty item"),
        ("a::b\n\nc::", 3, "an empty item"),
        (
            "1,2,3\n1,2,x",
            2,
            "\"x\", expected a finite number as the rating",
        ),
        ("1,2,x\n1,2,3", 1, "rating"),
        ("1,2,3\n1,2,NaN", 2, "rating"),
        ("1,2,3\n1,2,1e39", 2, "rating"),
        ("1,2,3\n1,2,", 2, "rating"),
        (
            "a\tb\n\"c\td\ne\tf\n",
            2,
            "a quote, expected the quote to be closed",
        ),
        ("a,b\n\"x\ny\",b\nc\n", 4, "1 field"),
        ("a,b\n\"x\ny\"\n", 2, "1 field"),
        ("a,b\nc\rd,d\ne,f", 2, "a carriage return"),
        ("a,b\rc,d\r\r\ne,f,g\r", 4, "3 fields"),
        (
            "a,b\nnan,d",
            2,
            "nan as the user, which stands for a missing value",
        ),
        ("None,b", 1, "None as the user"),
        ("a,b\nc,d\nc,NULL", 3, "NULL as the item"),
        ("ann,tea,\nbob,rye,4", 1, "an empty rating"),
        ("a;b,c\nd;e,f", 1, "either may separate the fields"),
    ] {
        let error = parsed(text).unwrap_err();
        let Error::Value(message) = &error else {
            panic!("{text:?}: {error:?}");
        };
        let start = format!("f.csv, line {line}: found ");
        assert!(message.starts_with(&start), "{text:?}: {message}");
        assert!(message.contains(says), "{text:?}: {message}");
    }
    for (text, line) in [
        (&b"a,b\nc,d\xff\n"[..], 2),
        (b"a::b\n\nc::\xc3(\n", 3),
        (b"\xff\xfea\0,\0b\0", 1),
        (b"\x1f\x8b\x08,\x00", 1),
    ] {
        let message = parsed(text).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("f.csv, line {line}: ")),
            "{message}"
        );
        assert!(message.ends_with("expected text in UTF-8"), "{message}");
    }
}

#[test]
fn nothing_to_read() {
    for text in ["", "\n\r\n  \n", "\u{feff}", "user,item\n"] {
        let error = parsed(text).unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{error:?}");
        assert!(error.to_string().starts_with("f.csv "), "{error}");
    }
    let directory = Directory::new();
    for path in [directory.file("missing.csv"), directory.0.clone()] {
        let error = read(&path, &Format::default(), &NEVER).unwrap_err();
        assert!(matches!(error, Error::File(..)), "{error:?}");
    }
    let path = directory.file("some.csv");
    fs::write(&path, "a,b\n").unwrap();
    assert_eq!(read(&path, &Format::default(), &NEVER), parsed("a,b\n"));
}

#[test]
fn a_line_without_end_is_not_waited_for() {
    let endless = std::io::BufReader::new(std::io::repeat(0));
    let error = parse(endless, "zero", &Format::default(), &NEVER).unwrap_err();
    assert!(matches!(error, Error::Value(_)), "{error:?}");
    let endless = std::io::BufReader::new(std::io::repeat(b'\n'));
    let error = parse(endless, "blank", &Format::default(), &NEVER).unwrap_err();
    assert!(matches!(error, Error::Value(_)), "{error:?}");
}

#[test]
fn reading_can_stop() {
    let text = "a,b\n".repeat(50_000);
    let found = parse(
        text.as_bytes(),
        "f",
        &Format::default(),
        &AtomicBool::new(true),
    );
    assert_eq!(found, Err(Error::Interrupted));
}

#[cfg(unix)]
#[test]
fn pipes_are_read_and_can_be_left() {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::sync::atomic::Ordering::Relaxed;
    use std::thread;
    use std::time::Duration;

    let (reader, mut writer) = std::io::pipe().unwrap();
    let path = format!("/dev/fd/{}", reader.as_raw_fd());
    let lines = 100_000;
    let writing = thread::spawn(move || writer.write_all("a,b\n".repeat(lines).as_bytes()));
    let found = read(path.as_ref(), &Format::default(), &NEVER).unwrap();
    assert_eq!(found.users.len(), lines);
    writing.join().unwrap().unwrap();

    // Nobody writes, and the pipe stays open.
    let (reader, _writer) = std::io::pipe().unwrap();
    let path = format!("/dev/fd/{}", reader.as_raw_fd());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let reading = scope.spawn(|| read(path.as_ref(), &Format::default(), &stop));
        thread::sleep(Duration::from_millis(50));
        assert!(!reading.is_finished());
        stop.store(true, Relaxed);
        assert_eq!(reading.join().unwrap(), Err(Error::Interrupted));
    });
}

#[test]
fn memory_is_in_proportion_to_the_file() {
    let mut text = String::new();
    for line in 0..40_000 {
        text += &format!("{},{}\n", line, 7 * line % 40_000);
    }
    let (read, bytes) = price(|| parsed(&text).unwrap());
    assert_eq!(read.user_ids.len(), 40_000);
    assert!(bytes < 20 * text.len(), "{bytes} for {}", text.len());
}

fn id() -> impl Strategy<Value = String> {
    // Anything but what is trimmed or taken for a line ending, and NULs, which are refused.
    "[^\\s\u{feff}\r\\x00]([^\r\\x00]{0,6}[^\\s\u{feff}\r\\x00])?"
}

proptest! {
    #[test]
    fn any_ids_survive(lines in prop::collection::vec((id(), id(), -9.0..9f32), 1..30), tab: bool) {
        let delimiter = if tab { b'\t' } else { b',' };
        let mut writer = csv::WriterBuilder::new();
        let mut writer = writer.delimiter(delimiter).quote_style(csv::QuoteStyle::Always).from_writer(vec![]);
        for (user, item, rating) in &lines {
            writer.write_record([user, item, &rating.to_string()]).unwrap();
        }
        let text = writer.into_inner().unwrap();
        let format = Format {
            delimiter: Some(if tab { Delimiter::Tab } else { Delimiter::Comma }),
            header: Some(false),
            ..Format::default()
        };
        let read = parse(&text[..], "f", &format, &NEVER).unwrap();
        let expected: Vec<_> = lines.iter().map(|(user, item, _)| (&user[..], &item[..])).collect();
        prop_assert_eq!(pairs(&read), expected);
        let ratings: Vec<f32> = lines.iter().map(|line| line.2).collect();
        prop_assert_eq!(read.ratings, Some(ratings));
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in prop::collection::vec(
        prop::sample::select(&b"ab1,:;|\t \"\r\n\n,,\xff\xc3\xa9"[..]), 0..60,
    )) {
        if let Ok(read) = parsed(&text) {
            prop_assert!(!read.users.is_empty() && read.users.len() == read.items.len());
            prop_assert_eq!(*read.users.iter().max().unwrap() as usize + 1, read.user_ids.len());
            prop_assert_eq!(*read.items.iter().max().unwrap() as usize + 1, read.item_ids.len());
            prop_assert!(pairs(&read).iter().all(|(user, item)| !user.is_empty() && !item.is_empty()));
        }
    }
}
