#!/bin/sh
# Builds the wheel of the Python package, with the command in it, by `maturin` of the path.
# Usage: packaging/wheel.sh PROFILE DIR [ARGUMENT OF MATURIN...]
# BENTPIPE names a command that is built already.
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

if [ -z "${BENTPIPE:-}" ]; then
    BENTPIPE=$target/$folder/bentpipe
    cargo build --locked --profile "$profile" -p bentpipe-cli
fi
rm -rf crates/python/wheel && mkdir -p crates/python/wheel/scripts "$out"
install -m 755 "$BENTPIPE" crates/python/wheel/scripts/bentpipe
# What is handed out has the notices of those whose work is in it.
if [ "$profile" = dist ]; then
    mkdir -p crates/python/wheel/data/share/doc/bentpipe
    sh packaging/notices.sh crates/python/wheel/data/share/doc/bentpipe/NOTICES
fi
maturin build --quiet --locked --profile "$profile" --manifest-path crates/python/Cargo.toml --out "$out" "$@"
