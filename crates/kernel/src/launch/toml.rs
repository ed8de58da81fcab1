//! The part of TOML that launch files use: tables, arrays of tables, inline tables, arrays, strings, numbers, booleans.

use fencepost_syntax::sorted::SortedMap;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Integer(i128),
    Float(f64),
    Text(String),
    Boolean(bool),
    List(Vec<Value>),
    Table(Table),
}

impl Value {
    /// For messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Value::Text(text) => format!("`{text}`"),
            other => format!("{other:?}"),
        }
    }
}

pub(super) type Table = SortedMap<String, Value>;

/// What is wrong, and on which line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wrong {
    pub(super) line: usize,
    pub(super) message: String,
}

pub(super) fn parse(text: &str) -> Result<Table, Wrong> {
    let mut reader = Reader { text: text.as_bytes(), at: 0, depth: 0 };
    let mut root = Table::new();
    let mut path: Vec<String> = Vec::new();
    loop {
        reader.blank(true);
        let Some(next) = reader.peek() else { return Ok(root) };
        if next == b'[' {
            path = reader.header(&mut root)?;
        } else {
            let key = reader.key()?;
            reader.expect(b'=')?;
            let value = reader.value()?;
            let table = reader.table_at(&mut root, &path)?;
            if table.insert(key.clone(), value).is_some() {
                return Err(reader.wrong(format!("`{key}` is given twice")));
            }
        }
        reader.blank(false);
        if let Some(next) = reader.peek()
            && next != b'\n'
        {
            return Err(reader.wrong("one value to a line".to_owned()));
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    fn wrong(&self, message: String) -> Wrong {
        let line = self.text[..self.at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
        Wrong { line, message }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Spaces and comments; with `lines`, ends of lines too.
    fn blank(&mut self, lines: bool) {
        while let Some(next) = self.peek() {
            match next {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' if lines => self.at += 1,
                b'#' => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Wrong> {
        self.blank(false);
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.wrong(format!("`{}` is expected", char::from(byte))))
    }

    fn key(&mut self) -> Result<String, Wrong> {
        self.blank(false);
        if self.peek() == Some(b'"') {
            return self.text_value();
        }
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || byte == b'$')
        {
            self.at += 1;
        }
        if start == self.at {
            return Err(self.wrong("a name is expected".to_owned()));
        }
        Ok(String::from_utf8_lossy(&self.text[start..self.at]).into_owned())
    }

    /// `[name]`, `[[name]]` or `[[name.of.it]]`.
    fn header(&mut self, root: &mut Table) -> Result<Vec<String>, Wrong> {
        self.at += 1;
        let list = self.peek() == Some(b'[');
        if list {
            self.at += 1;
        }
        let mut path = vec![self.key()?];
        self.blank(false);
        while self.peek() == Some(b'.') {
            self.at += 1;
            path.push(self.key()?);
            self.blank(false);
        }
        self.expect(b']')?;
        let (name, above) = path.split_last().ok_or_else(|| self.wrong("a name is expected".to_owned()))?;
        if list {
            self.expect(b']')?;
        }
        let table = self.table_at(root, above)?;
        let new = if list { Value::List(Vec::new()) } else { Value::Table(Table::new()) };
        match table.entry(name.clone()).or_insert(new) {
            Value::List(items) if list => items.push(Value::Table(Table::new())),
            Value::Table(_) if !list => {}
            _ if list => return Err(self.wrong(format!("`{name}` is no list"))),
            _ => return Err(self.wrong(format!("`{name}` is no table"))),
        }
        Ok(path)
    }

    /// The table that a path leads to; of a list of tables, the last.
    fn table_at<'t>(&self, root: &'t mut Table, path: &[String]) -> Result<&'t mut Table, Wrong> {
        let mut table = root;
        for name in path {
            let found = match table.get_mut(name) {
                Some(Value::Table(table)) => Some(table),
                Some(Value::List(items)) => match items.last_mut() {
                    Some(Value::Table(table)) => Some(table),
                    _ => None,
                },
                _ => None,
            };
            table = found.ok_or_else(|| self.wrong(format!("`{name}` is no table")))?;
        }
        Ok(table)
    }

    fn value(&mut self) -> Result<Value, Wrong> {
        self.blank(false);
        self.depth += 1;
        if self.depth > 32 {
            return Err(self.wrong("values nest too deep".to_owned()));
        }
        let value = match self.peek() {
            Some(b'"') => self.text_value().map(Value::Text),
            Some(b'[') => self.list(),
            Some(b'{') => self.inline(),
            Some(_) => self.word(),
            None => Err(self.wrong("a value is expected".to_owned())),
        };
        self.depth -= 1;
        value
    }

    fn text_value(&mut self) -> Result<String, Wrong> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            match self.peek() {
                None | Some(b'\n') => return Err(self.wrong("a text is not closed".to_owned())),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(String::from_utf8_lossy(&text).into_owned());
                }
                Some(b'\\') => {
                    self.at += 1;
                    let escaped = match self.peek() {
                        Some(b'n') => b'\n',
                        Some(b't') => b'\t',
                        Some(other @ (b'"' | b'\\')) => other,
                        _ => return Err(self.wrong("this escape is not known".to_owned())),
                    };
                    text.push(escaped);
                    self.at += 1;
                }
                Some(byte) => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    fn list(&mut self) -> Result<Value, Wrong> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.blank(true);
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Value::List(items));
            }
            items.push(self.value()?);
            self.blank(true);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {}
                _ => return Err(self.wrong("`,` or `]` is expected".to_owned())),
            }
        }
    }

    fn inline(&mut self) -> Result<Value, Wrong> {
        self.at += 1;
        let mut table = Table::new();
        loop {
            self.blank(true);
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(Value::Table(table));
            }
            let key = self.key()?;
            self.expect(b'=')?;
            let value = self.value()?;
            if table.insert(key.clone(), value).is_some() {
                return Err(self.wrong(format!("`{key}` is given twice")));
            }
            self.blank(true);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {}
                _ => return Err(self.wrong("`,` or `}` is expected".to_owned())),
            }
        }
    }

    fn word(&mut self) -> Result<Value, Wrong> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'-' | b'.'))
        {
            self.at += 1;
        }
        let word = String::from_utf8_lossy(&self.text[start..self.at]).replace('_', "");
        let value = match word.as_str() {
            "true" => Some(Value::Boolean(true)),
            "false" => Some(Value::Boolean(false)),
            _ => match word.strip_prefix("0x") {
                Some(hex) => i128::from_str_radix(hex, 16).ok().map(Value::Integer),
                None => word.parse().map(Value::Integer).or_else(|_| word.parse().map(Value::Float)).ok(),
            },
        };
        value.ok_or_else(|| self.wrong(format!("`{word}` is no value: texts stand in quotes")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_launch_files_use() {
        let text = "entry = \"k\" # which\ngrid = [2, 1,\n 1]\n[[buffer]]\nname = \"a\"\nbytes = 0x1_000\n[[buffer]]\nname = \"b\"\n[x]\ny = { z = 1.5, w = true }\n";
        let table = parse(text).expect("it parses");
        assert_eq!(table["entry"], Value::Text("k".into()));
        assert_eq!(table["grid"], Value::List([2, 1, 1].map(Value::Integer).to_vec()));
        let Value::List(buffers) = &table["buffer"] else { panic!("a list") };
        let Value::Table(first) = &buffers[0] else { panic!("a table") };
        assert_eq!(first["bytes"], Value::Integer(4096));
        let Value::Table(x) = &table["x"] else { panic!("a table") };
        let Value::Table(y) = &x["y"] else { panic!("a table") };
        assert_eq!((&y["z"], &y["w"]), (&Value::Float(1.5), &Value::Boolean(true)));
    }

    #[test]
    fn lists_of_tables_nest() {
        let text = "[[launch]]\nentry = \"a\"\n[[launch.parameter]]\nvalue = 1\n[[launch.parameter]]\nvalue = 2\n[[launch]]\nentry = \"b\"\n";
        let table = parse(text).expect("it parses");
        let Value::List(launches) = &table["launch"] else { panic!("a list") };
        let Value::Table(first) = &launches[0] else { panic!("a table") };
        let Value::List(parameters) = &first["parameter"] else { panic!("a list") };
        assert_eq!((launches.len(), parameters.len()), (2, 2));
        assert_eq!(parse("[[a.b]]\n").expect_err("no a").message, "`a` is no table");
        assert_eq!(parse("x = 1\n[[x.y]]\n").expect_err("a number").line, 2);
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        let line = |text: &str| parse(text).expect_err("it is wrong").line;
        assert_eq!(line("a = 1\nb = \n"), 2);
        assert_eq!(line("a = 1\na = 2\n"), 2);
        assert_eq!(line("a = \"x\n"), 1);
        assert_eq!(line("a = 1 2\n"), 1);
        assert_eq!(line("\n\n= 3\n"), 3);
    }
}
