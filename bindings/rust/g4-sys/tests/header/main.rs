//! The declarations are those of g4.h: the C compiler is asked about every size, offset, constant and signature.
use g4_sys::*;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::mem::{size_of, MaybeUninit};
use std::path::PathBuf;
use std::process::Command;
use std::ptr::addr_of;

const DECLARATIONS: &str = include_str!("../../src/declarations.rs");

macro_rules! types {
    ($($name:ident { $($field:ident)* })*) => {
        /// ("sizeof(S)" or "offsetof(S, f)", what Rust says).
        #[allow(unused_variables)] // for types without fields
        fn measured() -> Vec<(String, usize)> {
            let mut all = Vec::new();
            $(
                all.push((format!("sizeof({})", stringify!($name)), size_of::<$name>()));
                let value = MaybeUninit::<$name>::uninit();
                let start = value.as_ptr();
                $(
                    let field = unsafe { addr_of!((*start).$field) } as usize;
                    all.push((format!("offsetof({}, {})", stringify!($name), stringify!($field)), field - start as usize));
                )*
            )*
            all
        }
    };
}
macro_rules! constants {
    ($($name:ident,)*) => {
        fn constants() -> Vec<(String, i64)> {
            vec![$((stringify!($name).to_string(), $name as i64)),*]
        }
    };
}
include!("names.rs");

fn include_dir() -> PathBuf {
    env::var_os("G4_INCLUDE_DIR")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../include")), PathBuf::from)
}

/// Compiles C against g4.h: declarations that need only be right, and statements of a main, whose output is returned.
fn compile_c(name: &str, declarations: &str, statements: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    let headers = "#include <g4/g4.h>\n#include <stddef.h>\n#include <stdio.h>\n";
    fs::write(&source, format!("{headers}{declarations}\nint main(void) {{\n{statements}return 0;\n}}\n")).unwrap();
    let status = Command::new(env::var("CC").unwrap_or_else(|_| "cc".to_string()))
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(include_dir())
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .status()
        .expect("a C compiler");
    assert!(status.success(), "see {}", source.display());
    String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap()
}

#[test]
fn sizes_offsets_and_constants_are_those_of_the_c_compiler() {
    let mut expected = BTreeMap::new();
    let mut statements = String::new();
    let rust = measured().into_iter().map(|(name, value)| (name, value as i64)).chain(constants());
    for (name, value) in rust {
        statements += &format!("printf(\"%s=%lld\\n\", \"{name}\", (long long)({name}));\n");
        expected.insert(name, value);
    }
    let mut in_c = BTreeMap::new();
    for line in compile_c("layout", "", &statements).lines() {
        let (name, value) = line.split_once('=').unwrap();
        in_c.insert(name.to_string(), value.parse::<i64>().unwrap());
    }
    assert!(in_c.len() > 150, "{} values", in_c.len());
    assert_eq!(in_c, expected);
}

/// `*mut *const i32` is `int32_t const* *` in C.
fn c_type(rust: &str) -> String {
    for (prefix, c) in [("*mut ", "*"), ("*const ", " const*")] {
        if let Some(pointee) = rust.strip_prefix(prefix) {
            return c_type(pointee) + c;
        }
    }
    let name = rust.trim_start_matches("Option<").trim_end_matches('>');
    let known = [
        ("c_char", "char"),
        ("c_void", "void"),
        ("f32", "float"),
        ("usize", "size_t"),
        ("u8", "uint8_t"),
        ("i16", "int16_t"),
        ("i32", "int32_t"),
        ("u32", "uint32_t"),
        ("i64", "int64_t"),
        ("u64", "uint64_t"),
    ];
    known.iter().find(|(rust, _)| *rust == name).map_or(name, |(_, c)| c).to_string()
}

/// (name, parameter types, result) of every function declared in Rust.
fn functions() -> Vec<(String, Vec<String>, String)> {
    let mut found = Vec::new();
    for line in DECLARATIONS.lines() {
        if let Some(declaration) = line.trim_start().strip_prefix("pub fn ") {
            let (name, rest) = declaration.trim_end_matches(';').split_once('(').unwrap();
            let (parameters, result) = rest.split_once(')').unwrap();
            let types = parameters.split(", ").filter(|one| !one.is_empty());
            let types = types.map(|one| c_type(one.split_once(": ").unwrap().1)).collect();
            let result = result.strip_prefix(" -> ").map_or("void".to_string(), c_type);
            found.push((name.to_string(), types, result));
        }
    }
    found
}

#[test]
fn signatures_are_those_of_the_c_compiler() {
    let mut checks = String::new();
    for (name, types, result) in functions() {
        let types = if types.is_empty() { "void".to_string() } else { types.join(", ") };
        checks += &format!("{result} {name}({types});\n");
    }
    compile_c("signatures", &checks, "");
}

#[test]
fn every_function_of_the_header_is_declared() {
    let header = fs::read_to_string(include_dir().join("g4/g4.h")).unwrap();
    let mut expected = Vec::new();
    for declaration in header.split("\nG4_API ").skip(1) {
        let before = declaration.split('(').next().unwrap();
        expected.push(before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_string());
    }
    let declared: Vec<String> = functions().into_iter().map(|(name, _, _)| name).collect();
    assert_eq!(declared, expected);
}

#[test]
fn every_type_is_measured() {
    let declared = DECLARATIONS.lines().filter(|line| line.starts_with("pub struct ") || line.starts_with("pub type ")).count();
    let opaque = DECLARATIONS.matches("_opaque:").count();
    let measured = measured().iter().filter(|(name, _)| name.starts_with("sizeof")).count();
    assert_eq!(declared, opaque + measured);
}

#[test]
fn the_library_is_there() {
    assert_eq!(unsafe { g4_abi_version() }, G4_ABI_VERSION);
}
