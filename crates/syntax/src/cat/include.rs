//! Which file an `include` names: one beside the file that has the `include`, else one beside the model.

/// The names to try for `include "file"`, in this order. Names of files are relative to the model's folder, with `/`;
/// `from` is that of the file in which the `include` stands, None for the model itself.
pub fn include_names(from: Option<&str>, file: &str) -> Vec<String> {
    let folder = from.and_then(|from| from.rsplit_once('/')).map(|(folder, _)| folder);
    let beside = folder.filter(|_| !file.starts_with('/')).map(|folder| format!("{folder}/{file}"));
    beside.into_iter().chain([file.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_the_including_one_comes_first() {
        assert_eq!(include_names(None, "a.cat"), ["a.cat"]);
        assert_eq!(include_names(Some("b.cat"), "a.cat"), ["a.cat"]);
        assert_eq!(include_names(Some("lib/x86/b.cat"), "a.cat"), ["lib/x86/a.cat", "a.cat"]);
        assert_eq!(include_names(Some("lib/b.cat"), "/a.cat"), ["/a.cat"]);
    }
}
