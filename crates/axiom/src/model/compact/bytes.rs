//! Numbers, texts and lists as bytes; see [`super`].

use std::sync::Arc;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Writer(pub Vec<u8>, Vec<String>);

impl Writer {
    pub fn number(&mut self, number: u32) {
        self.wide(u64::from(number));
    }

    pub fn wide(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub fn text(&mut self, text: &str) {
        self.wide(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    pub fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Writer, &T)) {
        self.wide(items.len() as u64);
        items.iter().for_each(|one| item(self, one));
    }

    /// A text that comes again and again, as its number in the list that [`Writer::with_words`] writes before all of them.
    pub fn word(&mut self, word: &str) {
        let known = self.1.iter().position(|known| known == word);
        let number = known.unwrap_or_else(|| {
            self.1.push(word.to_owned());
            self.1.len() - 1
        });
        self.wide(number as u64);
    }

    /// Something with its length before it, so that a reader can leave it out.
    pub fn with_length<T>(&mut self, write: impl FnOnce(&mut Writer) -> T) -> T {
        let start = self.0.len();
        let answer = write(self);
        let written = self.0.split_off(start);
        self.wide(written.len() as u64);
        self.0.extend(written);
        answer
    }

    /// Something with words in it.
    pub fn with_words<T>(&mut self, write: impl FnOnce(&mut Writer) -> T) -> T {
        let mut inner = Writer::default();
        let answer = write(&mut inner);
        self.list(&inner.1, |writer, word| writer.text(word));
        self.0.extend(inner.0);
        answer
    }
}

/// Reads what a [`Writer`] wrote; None at the first byte that it cannot have written.
#[derive(Clone, Debug)]
pub struct Reader<'b> {
    bytes: &'b [u8],
    words: &'b [Arc<str>],
}

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { bytes, words: &[] }
    }

    /// What is not read yet.
    pub fn rest(&self) -> &'b [u8] {
        self.bytes
    }

    /// Most numbers are one byte.
    #[inline]
    pub fn number(&mut self) -> Option<u32> {
        match self.bytes {
            [number @ 0..0x80, rest @ ..] => {
                self.bytes = rest;
                Some(u32::from(*number))
            }
            _ => self.long_number(),
        }
    }

    /// Places in a text are numbers of two or three bytes: those are taken from four bytes at once.
    fn long_number(&mut self) -> Option<u32> {
        let Some((four, _)) = self.bytes.split_first_chunk::<4>() else {
            return u32::try_from(self.wide()?).ok();
        };
        let word = u32::from_le_bytes(*four);
        let two = word & 0x7f | word >> 1 & 0x3f80;
        // The highest bits of the second and of the third byte say that there is more.
        if word & 0x8000 == 0 {
            self.bytes = &self.bytes[2..];
            return Some(two);
        }
        if word & 0x80_0000 == 0 {
            self.bytes = &self.bytes[3..];
            return Some(two | word >> 2 & 0x1f_c000);
        }
        u32::try_from(self.wide()?).ok()
    }

    pub fn wide(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub fn text(&mut self) -> Option<&'b str> {
        let length = self.number()? as usize;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        str::from_utf8(text).ok()
    }

    /// The list that [`Writer::with_words`] begins with, for [`Reader::with_words`].
    pub fn words(&mut self) -> Option<Vec<Arc<str>>> {
        self.list(|reader| reader.text().map(Arc::from))
    }

    /// The same bytes; [`Reader::word`] finds these.
    pub fn with_words<'w>(&self, words: &'w [Arc<str>]) -> Reader<'w>
    where
        'b: 'w,
    {
        Reader { bytes: self.bytes, words }
    }

    #[inline]
    pub fn word(&mut self) -> Option<&'b Arc<str>> {
        let number = self.number()?;
        self.words.get(number as usize)
    }

    /// Leaves so many bytes out.
    pub fn skip(&mut self, bytes: usize) -> Option<()> {
        self.bytes = self.bytes.split_at_checked(bytes)?.1;
        Some(())
    }

    /// How many items a list has. An item has a byte or more, so damaged bytes cannot ask for more memory than they deserve.
    fn length(&mut self) -> Option<usize> {
        let length = self.number()? as usize;
        (length <= self.bytes.len()).then_some(length)
    }

    /// A list of many items, made where it stays. What stands for an item that could not be read is seen by nobody.
    pub fn shared_list<T: Clone>(
        &mut self,
        stand_in: &T,
        mut item: impl FnMut(&mut Reader<'b>) -> Option<T>,
    ) -> Option<Arc<[T]>> {
        let length = self.length()?;
        let mut is_read = true;
        let mut next = || {
            let read = if is_read { item(self) } else { None };
            is_read = read.is_some();
            read.unwrap_or_else(|| stand_in.clone())
        };
        let items: Arc<[T]> = (0..length).map(|_| next()).collect();
        is_read.then_some(items)
    }

    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Reader<'b>) -> Option<T>) -> Option<Vec<T>> {
        let length = self.length()?;
        let mut items = Vec::with_capacity(length);
        for _ in 0..length {
            items.push(item(self)?);
        }
        Some(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut writer = Writer::default();
        let numbers = [0, 1, 127, 128, 300, u32::MAX];
        writer.list(&numbers, |writer, number| writer.number(*number));
        writer.text("po-loc");
        writer.wide(u64::MAX);
        let mut reader = Reader::new(&writer.0);
        assert_eq!(reader.list(Reader::number).as_deref(), Some(&numbers[..]));
        assert_eq!((reader.text(), reader.wide(), reader.number()), (Some("po-loc"), Some(u64::MAX), None));
        for cut in 0..writer.0.len() {
            let mut reader = Reader::new(&writer.0[..cut]);
            let all = reader.list(Reader::number).and_then(|_| reader.text()).and_then(|_| reader.wide());
            assert_eq!(all, None);
        }
    }

    #[test]
    fn a_shared_list_is_the_list() {
        let mut writer = Writer::default();
        let numbers = [7, 0, 300, u32::MAX];
        writer.list(&numbers, |writer, number| writer.number(*number));
        let read = |bytes: &[u8]| Reader::new(bytes).shared_list(&9, Reader::number);
        assert_eq!(read(&writer.0).as_deref(), Some(&numbers[..]));
        assert!((0..writer.0.len()).all(|cut| read(&writer.0[..cut]).is_none()));
    }

    #[test]
    fn a_word_is_written_once_and_read_as_often_as_it_was_used() {
        let mut writer = Writer::default();
        let used = ["po", "rf", "po", "po"];
        writer.with_words(|writer| used.iter().for_each(|word| writer.word(word)));
        assert_eq!(writer.0.iter().filter(|byte| **byte == b'p').count(), 1);
        let mut reader = Reader::new(&writer.0);
        let words = reader.words().expect("it was written");
        let mut reader = reader.with_words(&words);
        let read = used.map(|word| reader.word().filter(|read| ***read == *word).expect("it was written"));
        assert!(Arc::ptr_eq(read[0], read[2]) && reader.word().is_none());
    }

    #[test]
    fn what_has_a_length_can_be_left_out() {
        let mut writer = Writer::default();
        writer.with_length(|writer| writer.text("po-loc"));
        writer.number(7);
        let mut reader = Reader::new(&writer.0);
        let length = reader.number().expect("it was written") as usize;
        assert_eq!(reader.clone().text(), Some("po-loc"));
        assert_eq!((reader.skip(length), reader.number(), reader.skip(1)), (Some(()), Some(7), None));
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        for bit in 0..32 {
            for number in [1_u32 << bit, (1 << bit) - 1, u32::MAX >> bit] {
                let mut writer = Writer::default();
                writer.number(number);
                assert_eq!(Reader::new(&writer.0).number(), Some(number));
                let cut = writer.0.len() - 1;
                assert_eq!(Reader::new(&writer.0[..cut]).number(), None);
            }
        }
    }
}
