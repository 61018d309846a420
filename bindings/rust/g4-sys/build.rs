//! Finds the installed libg4: in the folder that G4_LIB_DIR names, else by pkg-config.
use std::env;
use std::process::Command;

const ADVICE: &str = "g4-sys found no libg4. Install g4 (cmake --install) and let pkg-config find its g4.pc (PKG_CONFIG_PATH), \
                      or set G4_LIB_DIR to the folder of libg4.so";

fn main() {
    for name in ["G4_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rustc-link-lib=g4");
    match env::var("G4_LIB_DIR") {
        Ok(folder) => println!("cargo:rustc-link-search=native={folder}"),
        Err(_) => pkg_config(),
    }
}

fn pkg_config() {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let output = Command::new(&program)
        .args(["--libs-only-L", "--keep-system-libs", "g4"])
        .output()
        .unwrap_or_else(|error| panic!("{ADVICE} ({program}: {error})"));
    if !output.status.success() {
        panic!("{ADVICE} ({})", String::from_utf8_lossy(&output.stderr).trim());
    }
    for flag in String::from_utf8_lossy(&output.stdout).split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        }
    }
}
