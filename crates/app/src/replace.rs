//! A file replaced as a whole: its new text is written beside it and then takes its name. A run that is killed in between,
//! or a disk that is full, leaves the old text.

use std::ffi::OsString;
use std::fs::{File, canonicalize, metadata, remove_file, rename};
use std::io::{Result, Write};
use std::path::Path;

use crate::exit::Exit;
use crate::inputs::{reason, shown};
use crate::terminal;

/// Writes the file, or says why not.
pub(crate) fn replace(path: &Path, text: &str, exit: &mut Exit) -> bool {
    if let Err(error) = try_replace(path, text) {
        terminal::complain(&format!("cannot write `{}`: {}", shown(path), reason(&error)));
        exit.bad_input();
        return false;
    }
    true
}

fn try_replace(path: &Path, text: &str) -> Result<()> {
    // What is no file cannot take the place of one, nor lose its own.
    if metadata(path).is_ok_and(|found| !found.is_file()) {
        return std::fs::write(path, text);
    }
    // A link stays a link, to the new text.
    let path = canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let written = write(&beside, &path, text).and_then(|()| rename(&beside, &path));
    if written.is_err() {
        let _ = remove_file(&beside);
    }
    written
}

fn write(beside: &Path, path: &Path, text: &str) -> Result<()> {
    let mut file = File::options().write(true).create_new(true).open(beside)?;
    if let Ok(found) = metadata(path) {
        file.set_permissions(found.permissions())?;
    }
    file.write_all(text.as_bytes())
}
