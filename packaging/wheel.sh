#!/bin/sh
# Builds the wheel of the Python package, with the command in it, by `maturin` of the path.
# Usage: packaging/wheel.sh PROFILE DIR [ARGUMENT OF MATURIN...]
set -eu
cd "$(dirname "$0")/.."

profile=$1
out=$2
shift 2
case $profile in
    dev) folder=debug ;;
    *) folder=$profile ;;
esac
target=${CARGO_TARGET_DIR:-target}

cargo build --locked --profile "$profile" -p bentpipe-cli
mkdir -p crates/python/wheel/scripts "$out"
install -m 755 "$target/$folder/bentpipe" crates/python/wheel/scripts/bentpipe
maturin build --quiet --locked --profile "$profile" --manifest-path crates/python/Cargo.toml --out "$out" "$@"
