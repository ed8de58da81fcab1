//! Numbers, texts and lists as bytes; see [`super`].

use std::sync::{Arc, OnceLock};

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    words: Vec<String>,
    /// The last place in a text: the next one is near.
    last: u32,
}

impl Writer {
    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// A place in a text, by how far it lies behind the last one, or before it.
    pub fn place(&mut self, at: u32) {
        let ahead = at.wrapping_sub(self.last) as i32;
        self.number((ahead << 1 ^ ahead >> 31) as u32);
        self.last = at;
    }

    pub fn number(&mut self, number: u32) {
        self.wide(u64::from(number));
    }

    pub fn wide(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    pub fn text(&mut self, text: &str) {
        self.wide(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Writer, &T)) {
        self.wide(items.len() as u64);
        items.iter().for_each(|one| item(self, one));
    }

    /// A text that comes again and again, as its number in the list that [`Writer::with_words`] writes before all of them.
    pub fn word(&mut self, word: &str) {
        let known = self.words.iter().position(|known| known == word);
        let number = known.unwrap_or_else(|| {
            self.words.push(word.to_owned());
            self.words.len() - 1
        });
        self.wide(number as u64);
    }

    /// Something with its length before it, so that a reader can leave it out, and a reader of its own can read it.
    pub fn with_length<T>(&mut self, write: impl FnOnce(&mut Writer) -> T) -> T {
        let (start, last) = (self.bytes.len(), std::mem::take(&mut self.last));
        let answer = write(self);
        self.last = last;
        let written = self.bytes.split_off(start);
        self.wide(written.len() as u64);
        self.bytes.extend(written);
        answer
    }

    /// Something with words in it.
    pub fn with_words<T>(&mut self, write: impl FnOnce(&mut Writer) -> T) -> T {
        let mut inner = Writer::default();
        let answer = write(&mut inner);
        self.list(&inner.words, |writer, word| writer.text(word));
        self.bytes.extend(inner.bytes);
        answer
    }
}

/// The words of [`Writer::with_words`]. Who reads one shares it with who reads it again; of a large model, most are never read.
#[derive(Debug, Default)]
pub struct Words {
    /// One after the other.
    all: String,
    ends: Vec<u32>,
    shared: Vec<OnceLock<Arc<str>>>,
}

impl Words {
    fn text(&self, number: usize) -> Option<&str> {
        let end = *self.ends.get(number)? as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.all.get(start..end)
    }

    fn shared(&self, number: usize) -> Option<&Arc<str>> {
        let text = self.text(number)?;
        Some(self.shared.get(number)?.get_or_init(|| Arc::from(text)))
    }
}

/// Reads what a [`Writer`] wrote; None at the first byte that it cannot have written.
#[derive(Clone, Debug)]
pub struct Reader<'b> {
    bytes: &'b [u8],
    words: Option<&'b Words>,
    last: u32,
}

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { bytes, words: None, last: 0 }
    }

    /// What is not read yet.
    pub fn rest(&self) -> &'b [u8] {
        self.bytes
    }

    /// What [`Writer::place`] wrote.
    #[inline]
    pub fn place(&mut self) -> Option<u32> {
        let ahead = self.number()?;
        self.last = self.last.wrapping_add(ahead >> 1 ^ (ahead & 1).wrapping_neg());
        Some(self.last)
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

    /// Numbers of two or three bytes are taken from four bytes at once.
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
        str::from_utf8(self.piece()?).ok()
    }

    /// The bytes of a text.
    fn piece(&mut self) -> Option<&'b [u8]> {
        let length = self.number()? as usize;
        let (piece, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(piece)
    }

    /// The list that [`Writer::with_words`] begins with, for [`Reader::with_words`].
    pub fn words(&mut self) -> Option<Words> {
        let length = self.length()?;
        // They are text as a whole: to ask it of each takes longer.
        let (mut all, mut ends) = (Vec::with_capacity(8 * length), Vec::with_capacity(length));
        for _ in 0..length {
            all.extend_from_slice(self.piece()?);
            ends.push(u32::try_from(all.len()).ok()?);
        }
        let shared = ends.iter().map(|_| OnceLock::new()).collect();
        Some(Words { all: String::from_utf8(all).ok()?, ends, shared })
    }

    /// The same bytes; [`Reader::word`] finds these.
    pub fn with_words<'w>(&self, words: &'w Words) -> Reader<'w>
    where
        'b: 'w,
    {
        Reader { bytes: self.bytes, words: Some(words), last: 0 }
    }

    pub fn word(&mut self) -> Option<&'b Arc<str>> {
        let number = self.number()?;
        self.words?.shared(number as usize)
    }

    /// The text of a word, for who keeps none that is shared.
    pub fn word_text(&mut self) -> Option<&'b str> {
        let number = self.number()?;
        self.words?.text(number as usize)
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
        let mut reader = Reader::new(&writer.bytes);
        assert_eq!(reader.list(Reader::number).as_deref(), Some(&numbers[..]));
        assert_eq!((reader.text(), reader.wide(), reader.number()), (Some("po-loc"), Some(u64::MAX), None));
        for cut in 0..writer.bytes.len() {
            let mut reader = Reader::new(&writer.bytes[..cut]);
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
        assert_eq!(read(&writer.bytes).as_deref(), Some(&numbers[..]));
        assert!((0..writer.bytes.len()).all(|cut| read(&writer.bytes[..cut]).is_none()));
    }

    #[test]
    fn a_word_is_written_once_and_read_as_often_as_it_was_used() {
        let mut writer = Writer::default();
        let used = ["po", "rf", "po", "po"];
        writer.with_words(|writer| used.iter().for_each(|word| writer.word(word)));
        assert_eq!(writer.bytes.iter().filter(|byte| **byte == b'p').count(), 1);
        let mut reader = Reader::new(&writer.bytes);
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
        let mut reader = Reader::new(&writer.bytes);
        let length = reader.number().expect("it was written") as usize;
        assert_eq!(reader.clone().text(), Some("po-loc"));
        assert_eq!((reader.skip(length), reader.number(), reader.skip(1)), (Some(()), Some(7), None));
    }

    #[test]
    fn places_are_read_wherever_the_one_before_them_was() {
        let places = [0, 5, 3, u32::MAX, 0, 1 << 31, 7];
        let mut writer = Writer::default();
        places.iter().for_each(|place| writer.place(*place));
        writer.with_length(|writer| places.iter().for_each(|place| writer.place(*place)));
        writer.place(8);
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        assert_eq!(places.map(|_| reader.place()), places.map(Some));
        let length = reader.number().expect("it was written") as usize;
        let mut inner = Reader::new(reader.rest());
        assert_eq!(places.map(|_| inner.place()), places.map(Some));
        assert_eq!((reader.skip(length), reader.place(), reader.place()), (Some(()), Some(8), None));
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        for bit in 0..32 {
            for number in [1_u32 << bit, (1 << bit) - 1, u32::MAX >> bit] {
                let mut writer = Writer::default();
                writer.number(number);
                assert_eq!(Reader::new(&writer.bytes).number(), Some(number));
                let cut = writer.bytes.len() - 1;
                assert_eq!(Reader::new(&writer.bytes[..cut]).number(), None);
            }
        }
    }
}
