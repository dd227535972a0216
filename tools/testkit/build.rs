//! Compiles the wall clock that jumps, which other programs are started with.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    const SOURCE: &str = "src/wall_clock.c";
    println!("cargo::rerun-if-changed={SOURCE}");
    let library = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write")).join("wall_clock.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(SOURCE);
    let status = compiler.status().expect("cc runs; `cargo xtask test` installs it");
    assert!(status.success(), "cc cannot compile {SOURCE}");
    println!("cargo::rustc-env=WALL_CLOCK_LIBRARY={}", library.display());
}
