//! The shipped models, compiled beforehand: reading the bytes takes a twentieth of the time of reading the text.
//!
//! The bytes are a cache of the text in `models` and no other form of a model. They say what they were made from, and are
//! not used if that is not what is there; a test compiles every text and compares. After a change to a model or to the
//! compiler: `cargo run -p fencepost-check --example compile_models`.

use std::borrow::Cow;

use fencepost_axiom::model::Model;
use fencepost_axiom::model::compact::{self, Reader, Writer};
use fencepost_syntax::{Source, Span, cat};

use crate::model::readings::Standing;
use crate::model::variants::Mentioned;

/// By the name of the model.
const BYTES: &[(&str, &[u8])] = &[
    ("cmm", include_bytes!("compiled/cmm.bin")),
    ("epoch", include_bytes!("compiled/epoch.bin")),
    ("epoch-buffered", include_bytes!("compiled/epoch-buffered.bin")),
    ("gpm", include_bytes!("compiled/gpm.bin")),
    ("ptx", include_bytes!("compiled/ptx.bin")),
    ("ptx-6.0", include_bytes!("compiled/ptx-6.0.bin")),
    ("ptx-7.5", include_bytes!("compiled/ptx-7.5.bin")),
    ("rc11-scoped", include_bytes!("compiled/rc11-scoped.bin")),
    ("sbrp", include_bytes!("compiled/sbrp.bin")),
    ("sc", include_bytes!("compiled/sc.bin")),
    ("strict", include_bytes!("compiled/strict.bin")),
    ("x86-tso", include_bytes!("compiled/x86-tso.bin")),
];

/// What is known of a model without reading its text.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// With the variants of `on`.
    pub(crate) model: Model,
    pub(crate) on: Vec<String>,
    pub(crate) mentioned: Mentioned,
    /// The words of the lines that name points to read in several ways.
    pub(crate) readings: Vec<(Standing, String)>,
    /// The first word of the text.
    pub(crate) header: Option<String>,
    /// The lines of its head that say something ([`crate::model::vocabulary::keyed_head`]).
    pub(crate) head: Cow<'static, str>,
    /// The bytes of the tree of the text, for [`tree`].
    pub(crate) tree: &'static [u8],
}

/// The tree of a text, from the bytes that [`Compiled::find`] had.
pub(crate) fn tree(bytes: &[u8]) -> Option<cat::Model> {
    compact::tree::decode(&mut Reader::new(bytes))
}

impl Compiled {
    /// None if there are no bytes made from this text.
    pub(crate) fn find(name: &str, source: &Source) -> Option<Compiled> {
        let (_, bytes) = BYTES.iter().find(|(known, _)| *known == name)?;
        let mut reader = Reader::new(bytes);
        let model = compact::decode(&mut reader, source)?;
        let word = |reader: &mut Reader<'_>| reader.text().map(str::to_owned);
        let on = reader.list(word)?;
        let mentioned = reader.list(|reader| {
            let variant = reader.text()?.to_owned();
            Some((variant, Span::new(reader.number()?, reader.number()?)))
        })?;
        let readings = reader.list(|reader| {
            let standing = if reader.number()? == 0 { Standing::Contested } else { Standing::Settled };
            Some((standing, reader.text()?.to_owned()))
        })?;
        let header = reader.list(word)?.pop();
        let head = Cow::Borrowed(reader.text()?);
        let tree = reader.rest();
        Some(Compiled { model, on, mentioned: mentioned.into_iter().collect(), readings, header, head, tree })
    }

    pub(super) fn bytes(&self, tree: &cat::Model) -> Option<Vec<u8>> {
        let mut writer = Writer::default();
        let word = |writer: &mut Writer, word: &String| writer.text(word);
        compact::encode(&mut writer, &self.model)?;
        writer.list(&self.on, word);
        let mentioned: Vec<(&String, &Span)> = self.mentioned.iter().collect();
        writer.list(&mentioned, |writer, (variant, span)| {
            writer.text(variant);
            writer.number(span.start);
            writer.number(span.end);
        });
        writer.list(&self.readings, |writer, (standing, word)| {
            writer.number(u32::from(*standing == Standing::Settled));
            writer.text(word);
        });
        writer.list(self.header.as_slice(), word);
        writer.text(&self.head);
        compact::tree::encode(&mut writer, tree)?;
        Some(writer.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use fencepost_syntax::litmus::Arch;

    use super::*;
    use crate::model::load::Models;
    use crate::model::shipped::fresh;

    #[test]
    fn the_compiled_models_are_up_to_date() {
        let fresh = fresh().expect("every shipped model can be written");
        let refresh = "run `cargo run -p fencepost-check --example compile_models`";
        let names: Vec<String> = BYTES.iter().map(|(name, _)| format!("{name}.bin")).collect();
        assert_eq!(names, fresh.iter().map(|(file, _)| file.clone()).collect::<Vec<_>>(), "list it here and {refresh}");
        for ((file, bytes), (_, kept)) in fresh.iter().zip(BYTES) {
            assert!(bytes == kept, "{file} is out of date: {refresh}");
        }
    }

    #[test]
    fn a_compiled_model_is_that_of_its_text() {
        for (name, _) in BYTES {
            let (read, text) = (Models::shipped(name).expect("shipped"), Models::from_text(name).expect("shipped"));
            assert_eq!(format!("{:?}", read.tree()), format!("{:?}", text.tree()));
            assert_eq!(format!("{:?}", read.to_keep()), format!("{:?}", text.to_keep()));
            let arches = [Arch::Ptx, Arch::X86];
            assert_eq!(arches.map(|arch| read.is_about(arch)), arches.map(|arch| text.is_about(arch)));
            assert_eq!(format!("{:?}", read.points), format!("{:?}", text.points));
            assert_eq!((read.name, read.source, read.vocabulary), (text.name, text.source, text.vocabulary));
        }
    }

    #[test]
    fn bytes_of_another_text_and_damaged_bytes_are_no_model() {
        let name = "ptx-7.5";
        let source = Models::from_text(name).expect("shipped").source;
        assert!(Compiled::find(name, &source).is_some());
        let other = Source::new(source.name.clone(), source.text.replace("acyclic", "irreflexive"));
        assert!(Compiled::find(name, &other).is_none());
        let (_, bytes) = BYTES.iter().find(|(known, _)| *known == name).expect("shipped");
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 0x81;
            // Whatever comes of it, it does not panic.
            let _ = compact::decode(&mut Reader::new(&damaged), &source);
            let _ = compact::decode(&mut Reader::new(&bytes[..at]), &source);
            if let Some(tree) = tree(&damaged[at..]) {
                // Which reads all definitions.
                assert!(tree == tree.clone());
            }
        }
    }
}
