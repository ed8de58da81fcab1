//! The tables of names and constructs that the page about cat is written from, against the compiler.

use fencepost_axiom::model::compile::compile_text;
use fencepost_axiom::model::language::{self, EXPRESSIONS, INSTRUCTIONS, Support};
use fencepost_axiom::model::library::{DEFINITIONS, FILES};
use fencepost_axiom::model::names::{FUNCTIONS, SETS, refused};
use fencepost_axiom::model::{BaseRelation, RelationGroup};
use fencepost_program::tag::{Tag, TagGroup};
use fencepost_syntax::cat;

fn compiles(text: &str) -> bool {
    compile_text("m", text).model.is_some()
}

#[test]
fn every_name_of_the_tables_has_a_meaning_in_one_sentence_and_a_value() {
    let sets = SETS.iter().map(|set| (set.name, set.meaning));
    let tags = Tag::ALL.iter().map(|tag| (tag.cat_name(), tag.meaning()));
    for (name, meaning) in sets.chain(tags) {
        // Final writes have a meaning for `with co from` only.
        assert!(name == "FW" || compiles(&format!("empty [{name}] as axiom")), "{name}");
        is_sentence(name, meaning);
    }
    for relation in BaseRelation::ALL {
        assert!(compiles(&format!("C\nempty {} as axiom", relation.cat_name())), "{relation:?}");
        is_sentence(relation.cat_name(), relation.meaning());
    }
    for definition in DEFINITIONS {
        assert!(compiles(&format!("let used = {}", definition.name())) || definition.text.starts_with("procedure"));
        is_sentence(definition.name(), definition.meaning);
    }
    FUNCTIONS.iter().for_each(|function| is_sentence(function.names[0], function.meaning));
    FILES.iter().for_each(|file| is_sentence(file.names[0], file.meaning));
    for construct in INSTRUCTIONS.iter().chain(EXPRESSIONS) {
        is_sentence(construct.example, construct.meaning);
    }
}

fn is_sentence(name: &str, meaning: &str) {
    assert!(meaning.ends_with('.') && !meaning.contains(". "), "{name}: {meaning}");
}

#[test]
fn every_group_has_an_entry() {
    assert!(TagGroup::ALL.iter().all(|group| Tag::ALL.iter().any(|tag| tag.group() == *group)));
    let relations = |group: &RelationGroup| BaseRelation::ALL.iter().any(|relation| relation.group() == *group);
    assert!(RelationGroup::ALL.iter().all(relations));
    assert!(Tag::ALL.iter().all(|tag| TagGroup::ALL.contains(&tag.group())));
    assert!(BaseRelation::ALL.iter().all(|relation| RelationGroup::ALL.contains(&relation.group())));
}

#[test]
fn the_examples_of_the_language_compile_unless_they_are_refused() {
    for construct in INSTRUCTIONS {
        let (tree, problems) = cat::parse(construct.example);
        assert!(problems.is_empty(), "{}: {problems:?}", construct.example);
        let last = tree.instructions.last().expect("an instruction");
        assert_eq!(language::instruction(&last.node), construct);
        assert_eq!(compiles(construct.example), construct.support != Support::Refused, "{}", construct.example);
    }
    for construct in EXPRESSIONS {
        let text = format!("let used = {}\nprocedure use (r) = empty 0 end\ncall use (used)", construct.example);
        assert_eq!(compiles(&text), construct.support == Support::Supported, "{}", construct.example);
    }
}

#[test]
fn the_refused_names_are_refused() {
    for name in refused() {
        assert!(!compiles(&format!("empty [{name} (po)]")) && !compiles(&format!("empty {name} (po)")), "{name}");
    }
}
