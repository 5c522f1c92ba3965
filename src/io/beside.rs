//! Beside: a file that takes another's place when it is complete.
//!
//! Whoever reads the destination meanwhile, and a crash at any moment, finds the
//! old content or the new one. The permissions are those of any new file in that
//! directory, not the private ones that temporary files are made with.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A new file in the directory of another, removed unless it takes its place.
pub(super) struct Beside {
    path: PathBuf,
    permissions: Permissions,
}

impl Beside {
    /// Makes an empty file with a name of its own.
    pub fn new(path: &Path) -> io::Result<Beside> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        if path.file_name().is_none() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        let (file, path) = loop {
            let count = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = path.with_file_name(format!(".wyrmling-{}-{count}", std::process::id()));
            match File::create_new(&path) {
                // Left by a process of the same number that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                file => break (file?, path),
            }
        };
        Ok(Beside {
            permissions: file.metadata()?.permissions(),
            path,
        })
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes sure that the content is on disk, and gives it its name.
    pub fn move_to(self, path: &Path) -> io::Result<()> {
        // What was written may have been renamed onto ours, with its own permissions.
        fs::set_permissions(&self.path, self.permissions.clone())?;
        OpenOptions::new()
            .write(true)
            .open(&self.path)?
            .sync_all()?;
        fs::rename(&self.path, path)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // After the renaming there is nothing left to remove.
        let _ = fs::remove_file(&self.path);
    }
}
