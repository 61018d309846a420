//! g4's C interface, as g4.h declares it. The crate `g4` is the safe way to use it; g4.h is the manual.
//!
//! The library is looked for in the folder that `G4_LIB_DIR` names, else by pkg-config. A test compares each size, offset, constant
//! and signature with what the C compiler makes of g4.h.
#![allow(non_camel_case_types)]

#[rustfmt::skip]
mod declarations;

pub use declarations::*;
