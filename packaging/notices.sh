#!/bin/sh
# Writes the notices of those whose work is in the programs, the native module of Python and the page: `packaging/notices.sh OUT`.
# NOTICES names some that are written already: cargo-about takes minutes.
set -eu
out=$(realpath -m "$1")
if [ -n "${NOTICES:-}" ]; then
    cp "$NOTICES" "$out"
    exit
fi
cd "$(dirname "$0")/.."

version=0.9.3
# It reads every file of every crate: without being optimized it takes far longer than its build saves.
cargo about --version 2>/dev/null | grep -q "$version" || cargo install --locked cargo-about --version "$version" --features cli
cargo about generate --locked --fail --workspace -c packaging/about.toml -o "$out" packaging/notices.hbs
if [ -e web/dist/NOTICES.md ]; then
    printf '\n================================================================================\nThe page\n\n' >> "$out"
    cat web/dist/NOTICES.md >> "$out"
else
    echo "there is no page (make page), so its notices are not among them" >&2
fi
