//! Lists what of a module has no model.
use fencepost_kernel::code::{self, op::Op};
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let (tree, bad) = fencepost_syntax::ptx::parse(&text);
        let (module, more) = code::decode(&tree);
        println!("{path}: {} entries, {} + {} diagnostics", module.entries.len(), bad.len(), more.len());
        for d in &more { println!("   {d:?}"); }
        for entry in &module.entries {
            for i in entry.code.iter() {
                if let Op::Unmodelled { text: t, .. } = &i.op { println!("   {}: {t}", entry.name); }
                if let Op::Call { name, .. } = &i.op { println!("   {}: call {name}", entry.name); }
            }
        }
    }
}
