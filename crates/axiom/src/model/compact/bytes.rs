//! Numbers, texts and lists as bytes; see [`super`].

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Writer(pub Vec<u8>);

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
}

/// Reads what a [`Writer`] wrote; None at the first byte that it cannot have written.
#[derive(Clone, Debug)]
pub struct Reader<'b> {
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { bytes }
    }

    /// What is not read yet.
    pub fn rest(&self) -> &'b [u8] {
        self.bytes
    }

    pub fn number(&mut self) -> Option<u32> {
        // Most numbers are one byte.
        if let Some((&byte @ 0..0x80, rest)) = self.bytes.split_first() {
            self.bytes = rest;
            return Some(u32::from(byte));
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

    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Reader<'b>) -> Option<T>) -> Option<Vec<T>> {
        let length = self.number()? as usize;
        // An item has a byte or more, so damaged bytes cannot ask for more memory than they deserve.
        if length > self.bytes.len() {
            return None;
        }
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
}
