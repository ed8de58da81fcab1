//! What `map --emit` writes: each test by its name and that of its file, the target and the schemes, so that what is
//! compiled otherwise is another file. Nothing that is there and differs is overwritten.

use std::collections::BTreeSet;
use std::path::Path;

use fencepost_mapping::given::Judged;
use fencepost_mapping::report::Smallest;
use fencepost_mapping::task::Task;

use crate::exit::Exit;
use crate::inputs::{reason, shown};
use crate::terminal;

pub(super) struct Emitter<'e> {
    folder: &'e Path,
    /// `cmm-trailing`.
    mapping: String,
    taken: BTreeSet<String>,
}

impl Emitter<'_> {
    pub(super) fn new<'e>(folder: &'e Path, task: &Task) -> Emitter<'e> {
        let schemes = task.schemes.name(task.target).replace(", ", "-").replace(' ', "-");
        Emitter { folder, mapping: format!("{}-{schemes}", task.title()), taken: BTreeSet::new() }
    }

    /// Every way in which one test was compiled.
    pub(super) fn given(&mut self, ways: &[Judged], exit: &mut Exit) {
        for (at, one) in ways.iter().enumerate() {
            let Some(text) = &one.compiled else { continue };
            let stem = Path::new(&one.file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let title = if stem == one.test { stem } else { format!("{stem}-{}", one.test) };
            let way = if ways.len() == 1 { String::new() } else { format!("-{}", at + 1) };
            self.write(&format!("{title}-{}{way}", self.mapping), text, exit);
        }
    }

    pub(super) fn counterexamples(&mut self, found: &[Smallest], exit: &mut Exit) {
        for (at, one) in found.iter().enumerate() {
            let name = format!("map-{}-{}", self.mapping, at + 1);
            self.write(&name, &one.source, exit);
            if let Some(text) = &one.compiled {
                self.write(&format!("{name}-compiled"), text, exit);
            }
        }
    }

    fn write(&mut self, title: &str, text: &str, exit: &mut Exit) {
        let path = self.folder.join(format!("{}.litmus", self.free(title)));
        match std::fs::read(&path) {
            Ok(there) if there == text.as_bytes() => {}
            Ok(_) => self.refuse(&path, "it is there already, with another text", exit),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let written = std::fs::create_dir_all(self.folder).and_then(|()| std::fs::write(&path, text));
                if let Err(error) = written {
                    self.refuse(&path, &reason(&error), exit);
                }
            }
            Err(error) => self.refuse(&path, &reason(&error), exit),
        }
    }

    fn refuse(&self, path: &Path, why: &str, exit: &mut Exit) {
        terminal::complain(&format!("cannot write `{}`: {why}", shown(path)));
        exit.bad_input();
    }

    /// A name that nothing in this run has; tests of one name lie in different folders.
    fn free(&mut self, title: &str) -> String {
        const LONGEST: usize = 120;
        let plain = |character: char| character.is_ascii_alphanumeric() || "_+-".contains(character);
        let name: String = title.chars().take(LONGEST).map(|each| if plain(each) { each } else { '_' }).collect();
        let numbered = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}-{number}")));
        let free = numbered.into_iter().find(|name| !self.taken.contains(name)).unwrap_or(name);
        self.taken.insert(free.clone());
        free
    }
}
