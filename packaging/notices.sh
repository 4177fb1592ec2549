#!/bin/sh
# Writes the notices of those whose work is in the programs, the native module of Python and the page: `packaging/notices.sh OUT`.
set -eu
cd "$(dirname "$0")/.."

version=0.9.3
cargo about --version 2>/dev/null | grep -q "$version" || cargo install --locked cargo-about --version "$version" --features cli
cargo about generate --locked --fail --workspace -c packaging/about.toml -o "$1" packaging/notices.hbs
if [ -e web/dist/NOTICES.md ]; then
    printf '\n================================================================================\nThe page\n\n' >> "$1"
    cat web/dist/NOTICES.md >> "$1"
fi
