#!/bin/sh
# Writes a Debian package of a program of the profile `dist` that is built already, with its manual pages and completions.
# Usage: packaging/deb.sh OUT.deb [TARGET]
# With TARGET it is the program that was built for it, which has to run here.
set -eu
out=$(realpath -m "$1")
target=${2:-}
cd "$(dirname "$0")/.."

version=3.8.0
cargo deb --version 2>/dev/null | grep -q "$version" || cargo install --debug --locked cargo-deb --version "$version"
program=${CARGO_TARGET_DIR:-target}${target:+/$target}/dist/bentpipe
rm -rf packaging/out && mkdir -p packaging/out "$(dirname "$out")"
sh packaging/notices.sh packaging/out/NOTICES
"$program" man packaging/out/man
for shell in bash zsh fish; do "$program" completions $shell > packaging/out/bentpipe.$shell; done
cargo deb --no-build --profile dist -p bentpipe-cli ${target:+--target "$target"} --output "$out"
