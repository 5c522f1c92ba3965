//! Replacing a file: the old content or the new, the same permissions, and nothing left over.

use std::fs::{self, File};
use std::sync::atomic::AtomicBool;

use wyrmling::error::Error;
use wyrmling::io::replace_file;

use crate::NEVER;
use crate::directory::Directory;
use crate::tensors::{Owned, contents, read_file, save};

#[test]
fn a_call_that_is_called_off_changes_nothing() {
    let directory = Directory::new();
    let path = directory.file("model");
    let (old, new) = (contents(1), contents(2));
    save(&old, &path, &NEVER).unwrap();
    let stopped = AtomicBool::new(true);
    assert_eq!(save(&new, &path, &stopped), Err(Error::Interrupted));
    assert_eq!(read_file(&path, &stopped), Err(Error::Interrupted));
    assert_eq!(read_file(&path, &NEVER), Ok(old));
    assert_eq!(directory.names(), ["model"]);
}

#[test]
fn a_file_takes_the_place_of_another() {
    let directory = Directory::new();
    let (path, source) = (directory.file("old"), directory.file("new"));
    let content: Vec<u8> = (0..3_000_001u32).map(|n| (n % 251) as u8).collect();
    fs::write(&source, &content).unwrap();
    for _ in 0..2 {
        replace_file(&path, &source, &NEVER).unwrap();
        assert!(fs::read(&path).unwrap() == content);
    }
    fs::write(&source, "").unwrap();
    let stopped = AtomicBool::new(true);
    fs::write(directory.file("long"), &content).unwrap();
    let long = directory.file("long");
    assert_eq!(
        replace_file(&path, &long, &stopped),
        Err(Error::Interrupted)
    );
    assert!(fs::read(&path).unwrap() == content);
    replace_file(&path, &source, &NEVER).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"");
    let none = directory.file("none");
    for (to, from) in [(&path, &none), (&none.join("model"), &source)] {
        let error = replace_file(to, from, &NEVER).unwrap_err();
        assert!(error.to_string().contains("none"), "{error}");
    }
    assert_eq!(directory.names(), ["long", "new", "old"]);
}

#[test]
fn temporary_files_go_with_their_writers() {
    let directory = Directory::new();
    let path = directory.file("model");
    let dead = [".wyrmling-1-0.part", ".wyrmling-99999999999-123.part"];
    let alive = ".wyrmling-7-7.part";
    let others = [
        ".wyrmling-1-0",
        ".wyrmling-1-0.part.txt",
        ".wyrmling--0.part",
        ".wyrmling-x-0.part",
        "wyrmling-1-0.part",
    ];
    for name in dead.iter().chain(&others).chain([&alive]) {
        fs::write(directory.file(name), "half a model").unwrap();
    }
    fs::create_dir(directory.file(".wyrmling-2-0.part")).unwrap();
    // The system forgets the lock with the process, however it ends.
    let writer = File::options()
        .write(true)
        .open(directory.file(alive))
        .unwrap();
    writer.lock().unwrap();

    save(&contents(1), &path, &NEVER).unwrap();
    let mut expected = others.to_vec();
    expected.extend([alive, "model", ".wyrmling-2-0.part"]);
    expected.sort_unstable();
    assert_eq!(directory.names(), expected);

    drop(writer);
    save(&contents(1), &path, &NEVER).unwrap();
    expected.retain(|name| *name != alive);
    assert_eq!(directory.names(), expected);
}

/// Many writers of one file, each of which looks for left-over files of the others.
#[test]
fn writers_do_not_disturb_each_other() {
    let directory = Directory::new();
    let path = directory.file("model");
    let all: Vec<Owned> = (0..4).map(contents).collect();
    std::thread::scope(|scope| {
        for one in &all {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..50 {
                    save(one, path, &NEVER).unwrap();
                    read_file(path, &NEVER).unwrap();
                }
            });
        }
    });
    assert!(all.contains(&read_file(&path, &NEVER).unwrap()));
    assert_eq!(directory.names(), ["model"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn mode(directory: &Directory, name: &str) -> u32 {
        let found = fs::metadata(directory.file(name)).unwrap();
        found.permissions().mode() & 0o7777
    }

    #[test]
    fn permissions_are_those_of_the_file_before_or_of_any_new_file() {
        let directory = Directory::new();
        fs::write(directory.file("other"), "").unwrap();
        let path = directory.file("model");
        save(&contents(1), &path, &NEVER).unwrap();
        assert_eq!(mode(&directory, "model"), mode(&directory, "other"));
        for wanted in [0o600, 0o640, 0o666, 0o755] {
            fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
            let before = fs::metadata(&path).unwrap();
            save(&contents(1), &path, &NEVER).unwrap();
            let after = fs::metadata(&path).unwrap();
            assert_ne!(before.ino(), after.ino());
            assert_eq!(mode(&directory, "model"), wanted);
            let owner = |found: fs::Metadata| (found.uid(), found.gid());
            assert_eq!(owner(before), owner(after));
        }
    }

    #[test]
    fn links_are_followed() {
        let directory = Directory::new();
        let save_at = |name: &str| save(&contents(1), &directory.file(name), &NEVER);
        fs::create_dir(directory.file("there")).unwrap();
        fs::write(directory.file("there/model"), "old").unwrap();
        symlink("there/model", directory.file("link")).unwrap();
        symlink("link", directory.file("chain")).unwrap();
        symlink(directory.file("there/new"), directory.file("dangling")).unwrap();
        symlink("nowhere/model", directory.file("lost")).unwrap();
        symlink("loop", directory.file("loop")).unwrap();
        symlink("there", directory.file("folder")).unwrap();
        let names = directory.names();
        for (name, target) in [
            ("chain", "there/model"),
            ("dangling", "there/new"),
            ("folder/model", "there/model"),
        ] {
            let target = directory.file(target);
            let _ = fs::write(&target, "old");
            if name == "dangling" {
                fs::remove_file(&target).unwrap();
            }
            save_at(name).unwrap();
            assert_eq!(read_file(&target, &NEVER), Ok(contents(1)));
            assert!(!target.is_symlink());
        }
        for name in ["lost", "loop", "folder"] {
            let error = save_at(name).unwrap_err();
            assert!(matches!(error, Error::File(..)), "{name}: {error:?}");
        }
        assert_eq!(directory.names(), names);
        for link in ["link", "chain", "dangling", "folder"] {
            assert!(directory.file(link).is_symlink(), "{link}");
        }
        let mut there: Vec<_> = fs::read_dir(directory.file("there")).unwrap().collect();
        there.retain(|entry| entry.as_ref().unwrap().file_name() != "model");
        assert_eq!(there.len(), 1, "model and new, nothing else");
    }
}
