//! Replacing a file: the new content is written beside the old and renamed when it is complete.
//!
//! A reader of the destination, and a crash at any moment, finds the old content or the new one.
//!
//! - A symbolic link is followed: its target is replaced, and the link stays. Another hard link
//!   to the file keeps the old content, since the new content is another file.
//! - The new file gets the permissions of the one that it replaces before anything is written,
//!   and its owner and group where the system allows that. A file that replaces none has those
//!   of any new file in its directory.
//! - A writer holds an advisory lock on its temporary file, which the system releases when the
//!   process ends, however it ends. Every replacement first removes the temporary files of its
//!   directory that nobody has locked: their writers are dead. Where the file system knows no
//!   such locks nothing is removed.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{PIECE, file_error, look};
use crate::error::Result;

/// So many symbolic links are followed, as Linux does.
const MOST_LINKS: usize = 40;
const PREFIX: &str = ".wyrmling-";
const SUFFIX: &str = ".part";

/// A temporary file, removed unless it takes the place of its destination.
pub(super) struct Replacement {
    file: File,
    path: PathBuf,
    destination: PathBuf,
}

impl Replacement {
    /// Makes an empty file in the directory of `path`, or of what `path` links to.
    pub fn new(path: &Path) -> io::Result<Replacement> {
        let destination = target(path)?;
        if destination.file_name().is_none() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        remove_left_over(directory(&destination));
        let (file, path) = create(&destination)?;
        // From here on the file is removed when anything fails.
        let replacement = Replacement {
            file,
            path,
            destination,
        };
        if let Ok(old) = fs::metadata(&replacement.destination) {
            adopt(&replacement.file, &old)?;
        }
        Ok(replacement)
    }

    /// Where to write.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Makes sure that the content is on disk, and gives it its name.
    pub fn finish(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.destination)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After the renaming this fails, since nothing has the temporary name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Has a copy of the file `source` take the place of the file at `path`.
///
/// # Errors
///
/// [`File`](crate::error::Error::File) when the system refuses,
/// [`Interrupted`](crate::error::Error::Interrupted) when `stop` was set before the copy was complete.
pub fn replace_file(path: &Path, source: &Path, stop: &AtomicBool) -> Result<()> {
    let refused = |error| file_error(path, &error);
    let unread = |error| file_error(source, &error);
    let mut content = File::open(source).map_err(unread)?;
    let replacement = Replacement::new(path).map_err(refused)?;
    let mut target = replacement.file();
    let mut piece = vec![0; PIECE];
    loop {
        look(stop)?;
        match content.read(&mut piece) {
            Ok(0) => return replacement.finish().map_err(refused),
            Ok(count) => target.write_all(&piece[..count]).map_err(refused)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unread(error)),
        }
    }
}

/// What a path leads to, through symbolic links; that need not exist.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        if !is_link {
            return Ok(path);
        }
        // A relative target counts from the directory of the link.
        path = directory(&path).join(fs::read_link(&path)?);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The directory of a file.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A new file beside `destination`, locked, and its path.
fn create(destination: &Path) -> io::Result<(File, PathBuf)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    loop {
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{count}{SUFFIX}", std::process::id());
        let path = destination.with_file_name(name);
        let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
            // A process with the same id made it: on another machine, or one that has ended.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            file => file?,
        };
        match file.try_lock() {
            // Another process took the new file for left over before it was locked, and removed it.
            Ok(()) if !is_at(&file, &path) => {}
            Err(TryLockError::WouldBlock) => {}
            // This file system has no locks, so `remove_left_over` removes nothing on it.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok((file, path)),
        }
    }
}

/// Removes the temporary files of a directory whose writers are dead. What cannot be removed
/// stays: new files have other names.
fn remove_left_over(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        // To open a pipe would block, and `create` makes no links.
        let is_file = entry.file_type().is_ok_and(|found| found.is_file());
        if !is_file || !is_temporary(&entry.file_name()) {
            continue;
        }
        let path = entry.path();
        if let Ok(file) = OpenOptions::new().write(true).open(&path)
            && file.try_lock().is_ok()
            && is_at(&file, &path)
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether [`create`] gives such names.
fn is_temporary(name: &OsStr) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    name.to_str()
        .and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX))
        .and_then(|numbers| numbers.split_once('-'))
        .is_some_and(|(process, count)| is_number(process) && is_number(count))
}

/// Whether a path names an open file, and not another that took its place, or none.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(found)) => identity(ours) == identity(found),
        _ => false,
    }
}

/// Whether a path names a file: an open one cannot be replaced here.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// Gives a file the permissions of another, and where the system allows it owner and group.
#[cfg(unix)]
fn adopt(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let mut mode = old.mode() & 0o7777;
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (old.uid(), old.gid())
        && fchown(file, Some(old.uid()), Some(old.gid())).is_err()
    {
        // Only the superuser can change the owner. Without it the set-user-id bits must go.
        mode &= 0o1777;
        if ours.gid() != old.gid() && fchown(file, None, Some(old.gid())).is_err() {
            // The file has another group now, which gets only the permissions of all others.
            mode &= 0o1707 | (mode & 0o7) << 3;
        }
    }
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Gives a file the permissions of another.
#[cfg(not(unix))]
fn adopt(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}
