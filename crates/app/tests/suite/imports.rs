//! Which modules of a crate import which, read off their text: `use`, and paths that begin with `crate`, `super`, `self` or
//! the name of a child. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module by its path in the crate; the root of the crate is empty.
pub(crate) type Module = Vec<String>;

/// The text of each module.
pub(crate) type Texts = BTreeMap<Module, String>;

/// From each module to those that it imports, with the names that it takes from them.
pub(crate) type Imports = BTreeMap<Module, BTreeMap<Module, BTreeSet<String>>>;

/// The module that a file below `src` is.
pub(crate) fn module(file: &Path) -> Module {
    let mut path: Module = file.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let stem = path.pop().unwrap_or_default().trim_end_matches(".rs").to_owned();
    if !matches!(stem.as_str(), "lib" | "main" | "mod") {
        path.push(stem);
    }
    path
}

/// What each module imports of those that are neither its ancestors nor below it: a parent's types are the vocabulary of its
/// children.
pub(crate) fn imports(texts: &Texts) -> Imports {
    let texts = without_tests(texts);
    let mut imports = Imports::new();
    for (module, text) in &texts {
        for path in paths(&words(text)) {
            let Some((target, name)) = resolve(module, &path, &texts) else { continue };
            if !target.starts_with(module) && !module.starts_with(&target) {
                imports.entry(module.clone()).or_default().entry(target).or_default().insert(name);
            }
        }
    }
    imports
}

/// The imports of a cycle, a line each; None if there is no cycle.
pub(crate) fn cycle(imports: &Imports) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    let found = imports.keys().find_map(|module| walk(module, imports, &mut done, &mut Vec::new()))?;
    let next = found.iter().cycle().skip(1);
    let line = |(from, to): (&Module, &Module)| {
        let names: Vec<&str> = imports[from][to].iter().map(String::as_str).collect();
        format!("{} -> {}: {}", from.join("::"), to.join("::"), names.join(", "))
    };
    Some(found.iter().zip(next).map(line).collect())
}

/// Depth first: a module that is met again on the way to itself closes a cycle.
fn walk(module: &Module, imports: &Imports, done: &mut BTreeSet<Module>, way: &mut Vec<Module>) -> Option<Vec<Module>> {
    if let Some(start) = way.iter().position(|before| before == module) {
        return Some(way.split_off(start));
    }
    if !done.insert(module.clone()) {
        return None;
    }
    way.push(module.clone());
    let mut next = imports.get(module).into_iter().flat_map(BTreeMap::keys);
    let found = next.find_map(|target| walk(target, imports, done, way));
    way.pop();
    found
}

/// The texts up to their `mod tests`, and without the files that are modules for tests only.
fn without_tests(texts: &Texts) -> Texts {
    const FOR_TESTS: &str = "#[cfg(test)]\n";
    let mut kept = texts.clone();
    for (module, text) in texts {
        for (_, item) in text.match_indices(FOR_TESTS).map(|(at, _)| text.split_at(at + FOR_TESTS.len())) {
            let declared = item.split(';').next().and_then(|item| item.split_once("mod ")).map(|(_, name)| name);
            if let Some(name) = declared {
                kept.remove(&[module.as_slice(), &[name.to_owned()]].concat());
            }
        }
    }
    for text in kept.values_mut() {
        text.truncate(text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len()));
    }
    kept
}

/// The words of a text, and its signs one by one but for `::`. Comments and literals are left out.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let length = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("r#\"") => rest.find("\"#").map_or(rest.len(), |end| end + 2),
            '"' => literal(rest, '"').unwrap_or(rest.len()),
            // Else it is a lifetime.
            '\'' => literal(rest, '\'').filter(|length| *length <= "'\\u{10ffff}'".len()).unwrap_or(1),
            _ if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            _ if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        let (word, behind) = rest.split_at(length);
        if !first.is_whitespace() && !matches!(first, '"' | '\'') && !word.starts_with("//") && !word.contains('"') {
            words.push(word);
        }
        rest = behind;
    }
    words
}

/// How long the literal is that begins here and ends with this quote; None for a quote that ends none, as `'a` has.
fn literal(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = true;
    let end = text.char_indices().find(|(_, letter)| {
        let ends = *letter == quote && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        ends
    });
    let (end, _) = end?;
    let is_lifetime = quote == '\'' && !text.starts_with("'\\") && text.chars().nth(2) != Some(quote);
    (!is_lifetime).then_some(end + 1)
}

/// The paths of `use` items, their trees spread out, and all others.
fn paths(words: &[&str]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = words;
    let mut before = "";
    while let [first, behind @ ..] = rest {
        if *first == "use" {
            rest = tree(behind, &[], &mut found);
        } else if before != "::" && behind.first() == Some(&"::") {
            rest = tree(rest, &[], &mut found);
        } else {
            rest = behind;
        }
        before = *first;
    }
    found
}

/// A path, or a tree of them as `use` has it, behind what comes before its braces. Returns what follows it.
fn tree<'w, 't>(words: &'w [&'t str], head: &[String], found: &mut Vec<Vec<String>>) -> &'w [&'t str] {
    let mut path = head.to_vec();
    let mut rest = words;
    while let [word, behind @ ..] = rest {
        rest = behind;
        match *word {
            "{" => {
                while !matches!(rest.first(), None | Some(&"}")) {
                    rest = tree(rest, &path, found);
                    rest = rest.strip_prefix(&[","]).unwrap_or(rest);
                }
                return rest.get(1..).unwrap_or_default();
            }
            "::" => continue,
            word => path.push(word.to_owned()),
        }
        if let [word, ..] = rest
            && *word != "::"
        {
            break;
        }
    }
    found.push(path);
    // `as name`.
    if rest.first() == Some(&"as") { rest.get(2..).unwrap_or_default() } else { rest }
}

/// The module that a path leads to, and the name that is taken from it.
fn resolve(module: &Module, path: &[String], texts: &Texts) -> Option<(Module, String)> {
    let child = |name: &String| texts.contains_key(&[module.as_slice(), std::slice::from_ref(name)].concat());
    let (mut target, mut rest) = match path.first()?.as_str() {
        "crate" => (Module::new(), &path[1..]),
        "self" => (module.clone(), &path[1..]),
        "super" => (module.clone(), path),
        _ if child(path.first()?) => (module.clone(), path),
        _ => return None,
    };
    while let [first, behind @ ..] = rest {
        if first == "super" {
            target.pop();
        } else if texts.contains_key(&[target.as_slice(), std::slice::from_ref(first)].concat()) {
            target.push(first.clone());
        } else {
            break;
        }
        rest = behind;
    }
    let name = rest.first().map_or("the module", String::as_str).to_owned();
    Some((target, name))
}

#[test]
fn a_cycle_is_found_and_one_with_an_ancestor_is_none() {
    let text = |text: &str| text.to_owned();
    let path = |path: &str| path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect::<Module>();
    let mut texts = Texts::from([
        (path(""), text("mod a;\nmod b;\n#[cfg(test)]\nmod c;\n")),
        (path("a"), text("mod inner;\nuse super::b::{One, Two as Other};\nfn f() { inner::g() }\n")),
        (path("a::inner"), text("use crate::a;\n// use crate::b;\nconst S: &str = \"crate::b::X\";\n")),
        (path("b"), text("fn f<'a>(it: &'a u8) { ';' }\n#[cfg(test)]\nmod tests { use crate::a; }\n")),
        (path("c"), text("use crate::{a::f, c};\n")),
    ]);
    assert_eq!(cycle(&imports(&texts)), None);
    texts.insert(path("b"), text("fn f() -> [crate::a::inner::G; 2] { super::a::f() }\n"));
    assert_eq!(cycle(&imports(&texts)), Some(vec![text("a -> b: One, Two"), text("b -> a: f")]));
}
