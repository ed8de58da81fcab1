//! What `fencepost kernel` reads and writes: several files and launches, Triton's cache, fat binaries, parameters, streams,
//! baselines, SARIF, pictures, and runs that are stopped.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::schema::{schema, validate};
use crate::common::{Folder, Run, fencepost, fencepost_with_input};
use crate::docs::root;

const HEAD: &str = ".version 8.7\n.target sm_90a\n.address_size 64\n";

/// An entry with two pointers, whose addresses for the thread are `%rd4` and `%rd5`.
fn entry(name: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 .ptr .global .align 16 {name}_a, .param .u64 .ptr .global .align 16 {name}_b)\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n.shared .align 128 .b8 s_{name}[1024];\n\
         ld.param.u64 %rd1, [{name}_a];\nld.param.u64 %rd2, [{name}_b];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n\
         cvt.u64.u32 %rd3, %r2;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nmov.u32 %r3, s_{name};\n\
         add.s32 %r4, %r3, %r2;\n{body}\nret;\n}}\n"
    )
}

fn module(entries: &[(&str, &str)]) -> String {
    entries.iter().fold(HEAD.to_owned(), |text, (name, body)| text + &entry(name, body))
}

const RIGHT: &str = "st.global.u32 [%rd4], %r1;";
const RACE: &str = "st.global.u32 [%rd1], %r1;";
const UNPROVED: &str = "mov.u32 %r6, %clock;\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 st.global.u32 [%rd5], %r1;";

fn says(run: &Run, code: i32, text: &str) {
    let all = format!("{}{}", run.out, run.err);
    assert!(run.code == code && all.contains(text), "expected {code} and {text:?}, got {}:\n{all}", run.code);
}

#[test]
fn every_entry_of_every_file_is_answered_and_the_worst_answer_is_the_exit_code() {
    let folder = Folder::new();
    folder.write("a.ptx", module(&[("one", RIGHT), ("two", RIGHT)]));
    folder.write("deep/er/b.ptx", module(&[("three", UNPROVED)]));
    folder.write("c.ptx", module(&[("four", RACE)]));
    folder.write("deep/notes.txt", "nothing");
    let proved = fencepost(&folder, &["kernel", "a.ptx"]);
    says(&proved, 0, "2 launches: 2 proved");
    says(
        &proved,
        0,
        "guessed: the grid is one CTA; the block is [128, 1, 1]; 2 pointers: a buffer of 1048576 zeros each",
    );
    says(&fencepost(&folder, &["kernel", "a.ptx", "deep"]), 3, "3 launches: 1 not proved, 2 proved");
    says(&fencepost(&folder, &["kernel", "."]), 1, "4 launches: 1 with findings, 1 not proved, 2 proved");
    says(&fencepost(&folder, &["kernel", ".", "absent.ptx"]), 2, "4 launches:");
    folder.write("d.ptx", "this is no PTX");
    says(&fencepost(&folder, &["kernel", "."]), 2, "4 launches:");
    says(
        &fencepost(&folder, &["kernel", "a.ptx", "c.ptx", "--entry", "two"]),
        0,
        "two in a.ptx: proved for the guessed launch",
    );
    says(&fencepost(&folder, &["kernel", "a.ptx", "c.ptx", "--entry", "five"]), 2, "there is no entry `five`");
    let one_by_one = fencepost(&folder, &["kernel", "a.ptx", "c.ptx", "deep", "--jobs", "1"]);
    assert_eq!(one_by_one.out, fencepost(&folder, &["kernel", "a.ptx", "c.ptx", "deep", "--jobs", "3"]).out);
    let input = fencepost_with_input(&folder, &["kernel", "-"], module(&[("one", RIGHT)]).as_bytes());
    says(&input, 0, "one in <stdin>: proved");
    folder.write("empty/x.txt", "");
    says(&fencepost(&folder, &["kernel", "empty"]), 2, "holds no .ptx or .fatbin file");
}

#[test]
fn a_kernel_that_asks_which_cta_it_is_gets_two() {
    let folder = Folder::new();
    // Each CTA writes a word of its own; or both write the first.
    let own = "mov.u32 %r5, %ctaid.x;\nshl.b32 %r6, %r5, 10;\ncvt.u64.u32 %rd6, %r6;\nadd.s64 %rd4, %rd4, %rd6;";
    folder.write(
        "k.ptx",
        module(&[("right", &format!("{own}\n{RIGHT}")), ("wrong", &format!("{own}\nst.global.u32 [%rd5], %r6;"))]),
    );
    let run = fencepost(&folder, &["kernel", "k.ptx"]);
    says(&run, 1, "right in k.ptx: proved for the guessed launch: no race");
    says(&run, 1, "256 lanes of 8 warps in 2 CTAs");
    says(&run, 1, "guessed: the grid is two CTAs; the block is [128, 1, 1]");
    says(&run, 1, "2 launches: 1 with findings, 1 proved");
    says(&fencepost(&folder, &["kernel", "k.ptx", "--grid", "1"]), 0, "2 launches: 2 proved");
    // So does one that synchronises at the scope of the GPU.
    folder.write("k.ptx", module(&[("lock", "red.global.gpu.add.u32 [%rd1], 1;")]));
    says(&fencepost(&folder, &["kernel", "k.ptx"]), 0, "guessed: the grid is two CTAs");
}

#[test]
fn the_cache_of_triton_gives_warps_shared_memory_and_tensor_maps() {
    let folder = Folder::new();
    let text = HEAD.to_owned()
        + ".extern .shared .align 16 .b8 global_smem[];\n\
           .visible .entry add(.param .u64 .ptr .global .align 1 p0, .param .u32 p1, .param .align 64 .b8 p2[128])\n{\n\
           .reg .b32 %r<9>;\nmov.u32 %r1, global_smem;\nmov.u32 %r2, %tid.x;\nshl.b32 %r3, %r2, 4;\nadd.s32 %r1, %r1, %r3;\n\
           st.shared.u32 [%r1], %r2;\nret;\n}\n";
    folder.write("cache/ABC/add.ptx", text);
    let metadata = |warps: &str, shared: u32| {
        format!(
            "{{\"name\": \"add\", \"num_warps\": {warps}, \"num_ctas\": 1, \"shared\": {shared}, \"tensordesc_meta\": \
             [{{\"swizzle\": 3, \"elem_size\": 2, \"elem_type\": 6, \"block_size\": [128, 64]}}]}}"
        )
    };
    folder.write("cache/ABC/add.json", metadata("2", 1024));
    folder.write("cache/ABC/__grp__add.json", "{\"child_paths\": {}}");
    let run = fencepost(&folder, &["kernel", "cache", "--json"]);
    let told: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        (&told["answer"], &told["block"], &told["shared"]),
        (&"proved".into(), &[64, 1, 1].into(), &1024.into())
    );
    let guessed = "1 tensor map: of a tensor of [512, 512]";
    assert!(told["guessed"].as_array().expect("guesses").contains(&guessed.into()), "{}", told["guessed"]);
    let template = fencepost(&folder, &["kernel", "cache", "--template"]);
    says(&template, 0, "block = [64, 1, 1]\nshared = 1024\n");
    says(&template, 0, "map = { element = \"f16\", dims = [512, 512], box = [64, 128], swizzle = 128 }");
    // Shared memory is as large as the file says, and no larger.
    folder.write("cache/ABC/add.json", metadata("2", 1000));
    says(&fencepost(&folder, &["kernel", "cache"]), 1, "out-of-bounds");
    // What is not Triton's is not used.
    folder.write("cache/ABC/add.json", metadata("\"two\"", 1000));
    says(
        &fencepost(&folder, &["kernel", "cache"]),
        0,
        "guessed: the grid is one CTA; the block is [128, 1, 1]; dynamic shared",
    );
}

#[test]
fn fat_binaries_and_objects_give_their_modules() {
    let data = root().join("crates/kernel/tests/data/fatbin");
    let folder = Folder::new();
    let mut object = b"\x7fELF\x02\x01\x01\0 an object ".to_vec();
    for name in ["plain", "lz4", "zstd"] {
        let bytes = std::fs::read(data.join(format!("{name}.fatbin"))).expect("data");
        folder.write(&format!("fat/{name}.fatbin"), &bytes);
        object.extend_from_slice(&bytes);
    }
    folder.write("app.o", &object);
    let run = fencepost(&folder, &["kernel", "fat"]);
    says(&run, 1, "_Z9neighbourPi in fat/zstd.fatbin#1: ");
    says(&run, 1, "6 launches: 3 with findings, 3 proved");
    says(&fencepost(&folder, &["kernel", "app.o", "--entry", "_Z5scalePffi"]), 0, "_Z5scalePffi in app.o#3: proved");
    says(&fencepost(&folder, &["kernel", "app.o", "--inventory"]), 0, "app.o#2: PTX 9.4");
    let mut cubin = vec![0; 64];
    cubin[..4].copy_from_slice(b"\x7fELF");
    cubin[18] = 190;
    folder.write("k.cubin", &cubin);
    says(&fencepost(&folder, &["kernel", "k.cubin"]), 2, "is a cubin: machine code");
    cubin[18] = 62;
    folder.write("host.o", &cubin);
    says(&fencepost(&folder, &["kernel", "host.o"]), 2, "without a fat binary");
    let mut damaged = std::fs::read(data.join("zstd.fatbin")).expect("data");
    let last = damaged.len() - 40;
    damaged[last] ^= 0x55;
    folder.write("damaged.fatbin", &damaged);
    assert_eq!(fencepost(&folder, &["kernel", "damaged.fatbin"]).code, 2);
}

/// Runs `k`, whose only parameter is declared so, with a value.
fn with_parameter(parameter: &str, value: &str) -> Run {
    let folder = Folder::new();
    folder.write("k.ptx", format!("{HEAD}.visible .entry k(.param {parameter})\n{{\nret;\n}}\n"));
    folder.write("k.toml", format!("block = 32\n[[buffer]]\nname = \"a\"\nbytes = 64\n[[parameter]]\n{value}\n"));
    fencepost(&folder, &["kernel", "k.ptx", "--launch", "k.toml"])
}

#[test]
fn values_fit_their_parameters() {
    says(&with_parameter(".u32 p", "value = 4294967295"), 0, "proved");
    says(&with_parameter(".u32 p", "value = -1"), 0, "proved");
    says(&with_parameter(".u32 p", "value = 4294967296"), 2, "parameter `p`: 4294967296 does not fit 32 bits");
    says(&with_parameter(".u32 p", "value = 1.5"), 2, "parameter `p`: 1.5 is a float, and an integer is expected");
    says(&with_parameter(".f32 p", "value = 1.5"), 0, "proved");
    says(&with_parameter(".f32 p", "value = 2"), 0, "proved");
    says(&with_parameter(".b32 p", "value = 1.5"), 0, "proved");
    says(&with_parameter(".b16 p", "value = 1.5"), 2, "give its bits as a number");
    says(&with_parameter(".u32 p", "buffer = \"a\""), 2, "a pointer has 8 bytes, and there are 4");
    says(&with_parameter(".u64 p", "buffer = \"a\"\noffset = 65"), 2, "the offset is 65; the buffer has 64 bytes");
    says(&with_parameter(".u64 p", "buffer = \"a\"\nvalue = 1"), 2, "it may have one of them");
    says(&with_parameter(".u64 p", "valu = 1"), 2, "`valu` is not known");
    says(&with_parameter(".align 8 .b8 p[24]", "value = [1, 2]"), 2, "2 bytes are given, and it has 24");
    let folder = Folder::new();
    folder.write("k.ptx", format!("{HEAD}.visible .entry k(.param .u32 p)\n{{\nret;\n}}\n"));
    says(&fencepost(&folder, &["kernel", "k.ptx", "--param", "p=1.5"]), 2, "1.5 is a float");
    says(&fencepost(&folder, &["kernel", "k.ptx", "--param", "0=7"]), 0, "proved");
}

/// A kernel may write a constant variable through the address that the host asks for; reads of `.const` go through
/// another proxy (PTX ISA 8.6).
#[test]
fn a_parameter_points_to_a_variable() {
    let ptx = format!(
        "{HEAD}.const .align 4 .b8 table[256];\n.visible .entry k(.param .u64 p, .param .u64 q)\n{{\n\
         .reg .b32 %r<4>;\n.reg .b64 %rd<6>;\nld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd1, %rd1, %rd3;\nadd.u64 %rd2, %rd2, %rd3;\nst.global.u32 [%rd1], %r1;\n\
         fence.acq_rel.gpu;\nmov.u64 %rd4, table;\nadd.u64 %rd4, %rd4, %rd3;\nld.const.u32 %r2, [%rd4];\n\
         st.global.u32 [%rd2], %r2;\nret;\n}}\n"
    );
    let folder = Folder::new();
    folder.write("k.ptx", ptx);
    let run = |value: &str| {
        let buffers = "[[buffer]]\nname = \"a\"\nbytes = 256\n[[buffer]]\nname = \"b\"\nbytes = 256\n";
        folder.write("k.toml", format!("block = 64\n{buffers}[[parameter]]\n{value}\n[[parameter]]\nbuffer = \"b\"\n"));
        fencepost(&folder, &["kernel", "k.ptx", "--launch", "k.toml"])
    };
    says(&run("buffer = \"a\""), 0, "proved");
    says(&run("variable = \"table\""), 1, "is written by the kernel, at `table` + 0");
    says(&run("variable = \"table\"\noffset = 4"), 1, "table + 256, which has 256 bytes");
    says(&run("variable = \"table\"\noffset = 257"), 2, "the offset is 257; the variable has 256 bytes");
    says(&run("variable = \"tables\""), 2, "the module has no global or constant variable `tables`");
    says(&run("variable = \"table\"\nbuffer = \"a\""), 2, "it may have one of them");
}

#[test]
fn a_struct_has_fields() {
    let ptx = format!(
        "{HEAD}.visible .entry k(.param .align 8 .b8 p[24])\n{{\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [p+8];\nld.param.u32 %r2, [p+16];\nsetp.ne.u32 %p1, %r1, 3;\n\
         @%p1 trap;\nsetp.ne.u32 %p1, %r2, 0x3fc00000;\n@%p1 trap;\nst.global.u32 [%rd1+56], %r1;\nret;\n}}\n"
    );
    let folder = Folder::new();
    folder.write("k.ptx", ptx);
    let run = |fields: &str| {
        let text = format!("block = 1\n[[buffer]]\nname = \"a\"\nbytes = 64\n[[parameter]]\nfields = [{fields}]\n");
        folder.write("k.toml", text);
        fencepost(&folder, &["kernel", "k.ptx", "--launch", "k.toml"])
    };
    let good = "{ offset = 0, buffer = \"a\" }, { offset = 8, value = 3 }, { offset = 16, value = 1.5 }";
    says(&run(good), 0, "proved");
    says(&run(&good.replace("buffer = \"a\"", "buffer = \"a\", at = 8")), 1, "a + 64, which has 64 bytes");
    says(&run(&good.replace("value = 3", "value = 4")), 1, "a trap");
    says(&run(&good.replace("value = 3", "value = 3, type = \"u64\"")), 0, "proved");
    says(&run(&good.replace("offset = 8, value = 3", "offset = 4, value = 3")), 2, "the fields at 0 and 4 overlap");
    says(&run(&good.replace("offset = 16", "offset = 22")), 2, "4 bytes at 22 do not fit; the parameter has 24");
    says(&run(&good.replace("offset = 16, ", "")), 2, "field 2 has no `offset`");
}

/// `put` writes what `get` reads.
fn two(get: &str, launches: &str) -> Run {
    let folder = Folder::new();
    let body = format!(
        "{get}\nxor.b32 %r5, %r2, 4;\ncvt.u64.u32 %rd3, %r5;\nadd.s64 %rd6, %rd1, %rd3;\nld.global.u32 %r6, [%rd6];\n\
                        setp.ge.u32 %p1, %r6, 64;\n@%p1 trap;\nst.global.u32 [%rd5], %r6;"
    );
    folder.write(
        "k.ptx",
        module(&[("put", "griddepcontrol.launch_dependents;\nst.global.u32 [%rd4], %r1;"), ("get", &body)]),
    );
    let parameters = "[[launch.parameter]]\nbuffer = \"x\"\n[[launch.parameter]]\nbuffer = \"y\"\n";
    let head = "block = 64\n[[buffer]]\nname = \"x\"\nbytes = 256\ncontents = \"unknown\"\n[[buffer]]\nname = \"y\"\nbytes = 256\n";
    folder.write("k.toml", head.to_owned() + &launches.replace("PARAMETERS\n", parameters));
    fencepost(&folder, &["kernel", "k.ptx", "--launch", "k.toml"])
}

#[test]
fn launches_of_one_stream_follow_each_other_and_of_two_streams_do_not() {
    let put = "[[launch]]\nname = \"put\"\nentry = \"put\"\nPARAMETERS\n";
    let get = "[[launch]]\nentry = \"get\"\nPARAMETERS\n";
    // What the first has written decides in the second.
    says(&two("", &format!("{put}{get}")), 0, "get in k.ptx, launch 2: proved");
    // The other way round it reads what nobody has written.
    assert_eq!(two("", &format!("{get}{put}")).code, 3);
    let beside = two("", &format!("{put}{}", get.replace("entry", "stream = 1\nentry")));
    says(&beside, 1, "the kernels may run at the same time, and nothing orders the accesses, at `x` + 0");
    says(&beside, 1, "`put` writes through the generic proxy, CTA 0, warp 0, lane 0");
    // Nor is the other one proved.
    says(&beside, 1, "it races with a launch that may run at the same time");
    says(&beside, 1, "2 launches: 1 with findings, 1 not proved");
    says(&two("", &format!("{put}{}", get.replace("entry", "stream = 1\nafter = [\"put\"]\nentry"))), 0, "2 proved");
    says(
        &two("", &format!("{put}{}", get.replace("entry", "after = \"putt\"\nentry"))),
        2,
        "no launch before it is called `putt`",
    );
}

#[test]
fn variables_of_a_module_last_from_launch_to_launch() {
    let folder = Folder::new();
    let put = "mov.u64 %rd6, flag;\nst.global.u32 [%rd6], 7;";
    let get = "mov.u64 %rd6, flag;\nld.global.u32 %r6, [%rd6];\nsetp.ne.u32 %p1, %r6, 7;\n@%p1 trap;";
    let ptx = module(&[("put", put), ("get", get)]).replacen(HEAD, &format!("{HEAD}.global .align 4 .u32 flag;\n"), 1);
    folder.write("k.ptx", ptx);
    let parameters = "[[launch.parameter]]\nbuffer = \"x\"\n[[launch.parameter]]\nbuffer = \"x\"\n";
    let run = |order: [&str; 2], stream: u32| {
        let text = format!(
            "block = 1\n[[buffer]]\nname = \"x\"\nbytes = 256\n[[launch]]\nentry = \"{}\"\n{parameters}[[launch]]\nstream = {stream}\n\
             entry = \"{}\"\n{parameters}",
            order[0], order[1]
        );
        folder.write("k.toml", text);
        fencepost(&folder, &["kernel", "k.ptx", "--launch", "k.toml"])
    };
    says(&run(["put", "get"], 0), 0, "2 launches: 2 proved");
    says(&run(["get", "put"], 0), 1, "a trap is executed");
    says(&run(["put", "get"], 1), 1, "nothing orders the accesses, at `flag` + 0");
}

#[test]
fn a_dependent_launch_waits_by_itself() {
    let launches = "[[launch]]\nentry = \"put\"\nPARAMETERS\n[[launch]]\nentry = \"get\"\npdl = true\nPARAMETERS\n";
    says(&two("", launches), 1, "the kernels may run at the same time");
    says(&two("griddepcontrol.wait;", launches), 0, "2 launches: 2 proved");
    let one_waits = "setp.ne.u32 %p3, %r1, 0;\n@%p3 bra L;\ngriddepcontrol.wait;\nL:\n";
    says(&two(one_waits, launches), 1, "the kernels may run at the same time");
    // A barrier hands on what the thread that waited knows.
    says(&two(&format!("{one_waits}bar.sync 0;"), launches), 0, "2 launches: 2 proved");
}

/// PTX ISA 9.7.15.14: the third launch starts when the second says that it may. CUB's radix sort relies on it.
#[test]
fn a_launch_in_between_hands_on_what_it_has_waited_for() {
    let run = |between: &str| {
        let folder = Folder::new();
        let get = "ld.global.u32 %r6, [%rd4];\nst.global.u32 [%rd5], %r6;";
        folder.write("k.ptx", module(&[("put", RIGHT), ("between", between), ("get", get)]));
        let parameters = "[[launch.parameter]]\nbuffer = \"x\"\n[[launch.parameter]]\nbuffer = \"y\"\n";
        let launch = |entry: &str, pdl: bool| format!("[[launch]]\nentry = \"{entry}\"\npdl = {pdl}\n{parameters}");
        let launches = [launch("put", false), launch("between", true), launch("get", true)].concat();
        let buffers = "[[buffer]]\nname = \"x\"\nbytes = 256\n[[buffer]]\nname = \"y\"\nbytes = 256\n";
        folder.write("k.toml", format!("block = 64\n{buffers}{launches}"));
        fencepost(&folder, &["kernel", "k.ptx", "--launch", "k.toml"])
    };
    let (wait, launch) = ("griddepcontrol.wait;\n", "griddepcontrol.launch_dependents;\n");
    let handed_on = run(&format!("{wait}{launch}"));
    says(&handed_on, 0, "assumed: launches that the one before a dependent launch has waited for are over");
    says(&handed_on, 0, "3 launches: 3 proved");
    says(&run(wait), 0, "3 launches: 3 proved");
    // Who lets others start first has not waited yet, and who does not wait at all tells nothing.
    says(&run(&format!("{launch}{wait}")), 1, "the kernels may run at the same time");
    says(&run(launch), 1, "the kernels may run at the same time");
    // One thread lets others start before another has waited.
    let one = format!("setp.ne.u32 %p3, %r1, 0;\n@%p3 bra L;\n{wait}L:\n{launch}");
    says(&run(&one), 1, "the kernels may run at the same time");
    let all = format!("setp.ne.u32 %p3, %r1, 0;\n@%p3 bra L;\n{wait}L:\nbar.sync 0;\n{launch}");
    says(&run(&all), 0, "3 launches: 3 proved");
}

#[test]
fn a_launch_after_one_that_is_not_proved_is_not_proved() {
    let folder = Folder::new();
    folder.write("k.ptx", module(&[("bad", RACE), ("good", "st.global.u32 [%rd5], %r1;")]));
    let launch = |entry: &str| {
        format!(
            "[[launch]]\nentry = \"{entry}\"\n[[launch.parameter]]\nbuffer = \"x\"\n[[launch.parameter]]\nbuffer = \"x\"\n"
        )
    };
    let text = format!("block = 64\n[[buffer]]\nname = \"x\"\nbytes = 256\n{}{}", launch("bad"), launch("good"));
    folder.write("k.toml", text);
    let run = fencepost(&folder, &["kernel", "k.ptx", "--launch", "k.toml"]);
    says(&run, 1, "a launch before it is not proved");
    says(&run, 1, "2 launches: 1 with findings, 1 not proved");
}

#[test]
fn what_the_baseline_knows_is_counted_and_never_proved() {
    let folder = Folder::new();
    let race = "st.shared.u32 [%r4], %r1;\nxor.b32 %r5, %r4, 128;\nld.shared.u32 %r6, [%r5];";
    folder.write("k.ptx", module(&[("bad", race), ("good", RIGHT)]));
    let written = fencepost(&folder, &["kernel", "k.ptx", "--write-baseline", "known.json"]);
    says(&written, 0, "2 launches: 1 with known findings only, 1 proved");
    says(&written, 0, "bad in k.ptx: 1 finding\nrace: ");
    says(&written, 0, "1 finding is written to `known.json`");
    // Lines move, and stay known.
    folder
        .write("k.ptx", module(&[("good", RIGHT), ("bad", race)]).replace("address_size 64", "address_size 64\n\n\n"));
    let known = fencepost(&folder, &["kernel", "k.ptx", "--baseline", "known.json", "--json", "--sarif", "k.sarif"]);
    assert_eq!(known.code, 0, "{}{}", known.out, known.err);
    let told: Value = serde_json::from_str(known.out.lines().nth(1).expect("two lines")).expect("JSON");
    assert_eq!(
        (&told["answer"], &told["suppressed"], &told["findings"]),
        (&"known".into(), &1.into(), &Value::Array(vec![]))
    );
    let text = fencepost(&folder, &["kernel", "k.ptx", "--baseline", "known.json", "--entry", "bad"]);
    assert!(!text.out.contains("proved for") && text.out.contains("left out: 1 known finding"), "{}", text.out);
    let sarif: Value = serde_json::from_str(&folder.read("k.sarif")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["suppressions"][0]["kind"], "external");
    // One more of the same text is new, and so is another text.
    folder.write("k.ptx", module(&[("bad", &format!("{race}\n{race}"))]));
    assert_eq!(fencepost(&folder, &["kernel", "k.ptx", "--baseline", "known.json"]).code, 1);
    folder.write("k.ptx", module(&[("bad", RACE)]));
    assert_eq!(fencepost(&folder, &["kernel", "k.ptx", "--baseline", "known.json"]).code, 1);
    // A doubt stays one.
    folder.write("k.ptx", module(&[("bad", &format!("{race}\n{UNPROVED}"))]));
    assert_eq!(fencepost(&folder, &["kernel", "k.ptx", "--baseline", "known.json"]).code, 3);
    for bad in ["", "{}", "{\"version\": 2, \"findings\": []}"] {
        folder.write("known.json", bad);
        says(&fencepost(&folder, &["kernel", "k.ptx", "--baseline", "known.json"]), 2, "cannot read `known.json`");
    }
}

/// The parts of SARIF 2.1.0 that we write: required properties, enumerations, indices, ids.
fn check_sarif(log: &Value) {
    assert_eq!(log["version"], "2.1.0");
    for run in log["runs"].as_array().expect("runs") {
        let driver = &run["tool"]["driver"];
        assert!(driver["name"].is_string() && run["columnKind"] == "unicodeCodePoints");
        let rules = driver["rules"].as_array().expect("rules");
        let ids: BTreeSet<&str> = rules.iter().map(|rule| rule["id"].as_str().expect("an id")).collect();
        assert_eq!(ids.len(), rules.len(), "two rules of one id");
        for result in run["results"].as_array().expect("results") {
            let index = result["ruleIndex"].as_u64().expect("an index") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
            assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().expect("a level")));
            assert!(!result["message"]["text"].as_str().expect("a message").is_empty());
            let related = result["relatedLocations"].as_array().expect("locations");
            let ids: BTreeSet<u64> = related.iter().map(|own| own["id"].as_u64().expect("an id")).collect();
            assert_eq!(ids.len(), related.len(), "two locations of one id");
            for location in result["locations"].as_array().expect("locations").iter().chain(related) {
                let place = &location["physicalLocation"];
                let uri = place["artifactLocation"]["uri"].as_str().expect("a URI");
                let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%:".contains(&byte);
                assert!(!uri.is_empty() && uri.bytes().all(is_part), "{uri}");
                assert!(place["region"]["startLine"].as_u64().expect("a line") >= 1);
                assert!(place["region"]["startColumn"].as_u64().is_none_or(|column| column >= 1));
                assert!(location["message"]["text"].is_string());
            }
            for fix in result["fixes"].as_array().into_iter().flatten() {
                for change in fix["artifactChanges"].as_array().expect("changes") {
                    assert!(change["artifactLocation"]["uri"].is_string());
                    let replacement = &change["replacements"][0];
                    assert!(replacement["deletedRegion"]["startLine"].as_u64().is_some_and(|line| line >= 1));
                    assert!(replacement["insertedContent"]["text"].is_string());
                }
            }
        }
    }
}

#[test]
fn sarif_has_what_its_schema_requires() {
    let folder = Folder::new();
    let hang = "bar.sync 1, 256;";
    let fenced = "st.shared.u32 [%r4], %r1;\nxor.b32 %r5, %r4, 4;\nld.shared.u32 %r6, [%r5];";
    folder.write(
        "with space.ptx",
        module(&[("race", RACE), ("hang", hang), ("near", fenced), ("far", "st.global.u32 [%rd5+1048576], %r1;")]),
    );
    let run = fencepost(&folder, &["kernel", "with space.ptx", "--json", "--sarif", "k.sarif"]);
    assert_eq!(run.code, 1, "{}", run.err);
    let log: Value = serde_json::from_str(&folder.read("k.sarif")).expect("JSON");
    check_sarif(&log);
    let results = log["runs"][0]["results"].as_array().expect("results");
    let kinds: BTreeSet<&str> = results.iter().filter_map(|result| result["ruleId"].as_str()).collect();
    assert!(["race", "hang", "out-of-bounds"].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    assert!(
        results
            .iter()
            .any(|result| result["fixes"][0]["artifactChanges"][0]["artifactLocation"]["uri"] == "with%20space.ptx")
    );
    let document = schema("kernel");
    for line in run.out.lines() {
        validate(&document, &document, &serde_json::from_str(line).expect("JSON"), "");
    }
}

#[test]
fn a_picture_shows_stages_mbarriers_and_races() {
    let folder = Folder::new();
    let example = root().join("examples/kernel");
    for name in ["double.ptx", "double.toml", "double-unfenced.toml"] {
        folder.write(name, std::fs::read(example.join(name)).expect("the example"));
    }
    fencepost(&folder, &["kernel", "double.ptx", "--launch", "double.toml", "--picture", "right.svg"]);
    let right = folder.read("right.svg");
    for part in
        ["<svg ", "double: shared memory of CTA 0 over time", "tile + 0 to 1023", "mbarrier", "bulk w0", "</svg>"]
    {
        assert!(right.contains(part), "{part}: {right}");
    }
    assert!(!right.contains("#d00"), "{right}");
    let arguments =
        ["kernel", "double.ptx", "--launch", "double.toml", "--launch", "double-unfenced.toml", "--picture", "x.svg"];
    fencepost(&folder, &arguments);
    assert_eq!(folder.read("x-double-1.svg"), right, "the same picture twice");
    let wrong = folder.read("x-double_unfenced-2.svg");
    assert!(
        wrong.contains("race 1: line 92: st.shared.u32 [%r6], %r8;") && wrong.contains("stroke=\"#d00\""),
        "{wrong}"
    );
}

#[test]
fn the_pictures_of_the_documentation_are_those_of_today() {
    let folder = Folder::new();
    let kernel = root().join("corpus/kernels/tma-ring-empty-wait");
    let launch = kernel.join("tma-ring-empty-wait.toml");
    for name in ["", "-fixed"] {
        let ptx = kernel.join(format!("tma-ring-empty-wait{name}.ptx"));
        let (ptx, launch) = (ptx.to_string_lossy(), launch.to_string_lossy());
        fencepost(&folder, &["kernel", &ptx, "--launch", &launch, "--picture", "ring.svg"]);
        let page = root().join(format!("docs/pictures/ring-empty-wait{name}.svg"));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&page, folder.read("ring.svg")).expect("a file");
        }
        let shown = std::fs::read_to_string(&page).unwrap_or_default();
        assert!(shown == folder.read("ring.svg"), "`UPDATE=1 cargo test` redraws {}", page.display());
    }
}

#[test]
fn a_picture_of_a_long_run_stays_small() {
    let folder = Folder::new();
    let body = "mov.u32 %r7, 0;\nLOOP:\nst.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r6, [%r4];\nbar.sync 0;\nadd.s32 %r7, %r7, 1;\n\
                setp.lt.u32 %p1, %r7, 1000;\n@%p1 bra LOOP;";
    folder.write("k.ptx", module(&[("k", body)]));
    let run = fencepost(&folder, &["kernel", "k.ptx", "--picture", "k.svg"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let picture = folder.read("k.svg");
    assert!(picture.len() < 200_000 && picture.contains("are not drawn"), "{}", picture.len());
}

#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_says_what_it_knows() {
    let folder = Folder::new();
    folder.write(
        "a.ptx",
        module(&[("first", RACE), ("endless", &format!("{RACE}\nLOOP:\nadd.s32 %r6, %r6, 1;\nbra LOOP;"))]),
    );
    folder.write("b.ptx", module(&[("later", RIGHT)]));
    let child = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(["kernel", "a.ptx", "b.ptx", "--jobs", "1", "--steps", "100000000000"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    std::thread::sleep(Duration::from_millis(1500));
    let signal = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(signal.expect("coreutils has it").success());
    let start = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(10));
    let out = String::from_utf8_lossy(&output.stdout);
    for part in [
        "first in a.ptx: 1 finding",
        "endless in a.ptx: 1 finding",
        "it was stopped",
        "b.ptx: not checked: it was stopped",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.is_empty(), "no progress where there is no terminal");
}
