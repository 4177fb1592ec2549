//! Puts the built page, `web/dist`, into the library, compressed. Without it the library has no page.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut files = Vec::new();
    if dist.is_dir() {
        collect(&dist, &mut files)?;
        files.sort();
    }
    let mut table = String::from("&[\n");
    for (number, path) in files.iter().enumerate() {
        println!("cargo:rerun-if-changed={}", path.display());
        let packed = out.join(format!("page-{number}.gz"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(path)?)?;
        fs::write(&packed, encoder.finish()?)?;
        let name = path.strip_prefix(&dist)?.to_str().ok_or("the name of a file is no text")?;
        writeln!(
            table,
            "    File {{ path: {:?}, packed: include_bytes!({packed:?}) }},",
            format!("/{name}")
        )?;
    }
    table.push(']');
    fs::write(out.join("page.rs"), table)?;
    Ok(())
}

/// All files below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
