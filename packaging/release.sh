#!/bin/sh
# Makes everything that is handed out, into one folder: wheels, static programs, a Debian package, an image for containers, notices of
# third parties, bills of material and checksums.
# Usage: packaging/release.sh DIR [TARGET...]
#
# Without targets they are those that this machine's system can build: on Linux x86_64 and aarch64, each with glibc and musl, by
# zig; on macOS both of its processors; on Windows its own. Whatever fails ends it, so that a folder that is complete is so.
set -eu
cd "$(dirname "$0")/.."

out=$1
shift
system=$(uname -s)
if [ $# = 0 ]; then
    case $system in
        Linux) set -- x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl ;;
        Darwin) set -- x86_64-apple-darwin aarch64-apple-darwin ;;
        *) set -- x86_64-pc-windows-msvc ;;
    esac
fi
python=${PYTHON:-.venv/bin/python}
target_dir=${CARGO_TARGET_DIR:-target}
say() { echo "release: $*" >&2; }

mkdir -p "$out"
[ -z "$(ls -A "$out")" ] || { say "$out is not empty"; exit 1; }
out=$(cd "$out" && pwd)
PATH="$(cd "$(dirname "$python")" && pwd):$PATH"
"$python" -c 'import maturin' || { say "$python has no maturin: pip install maturin"; exit 1; }
[ "$system" != Linux ] || "$python" -c 'import ziglang' || { say "$python has no zig: pip install ziglang"; exit 1; }
need() {
    cargo "$1" --version 2>/dev/null | grep -q "$2" || cargo install --locked "cargo-$1" --version "$2" $3
}
need cyclonedx 0.5.9 ""
[ "$system" != Linux ] || need zigbuild 0.24.1 ""
version=$("$python" - <<'END'
import json, subprocess
packages = json.loads(subprocess.check_output(["cargo", "metadata", "--no-deps", "--format-version", "1"]))["packages"]
print(next(package["version"] for package in packages if package["name"] == "bentpipe-cli"))
END
)

say "notices of third parties"
make page
sh packaging/notices.sh "$out/NOTICES"

for target in "$@"; do
    say "$target"
    rustup target add -q "$target"
    case $target in
        *-linux-gnu) build=zigbuild suffix=.2.17 compatible="--zig --compatibility manylinux2014" ;;
        *-linux-musl) build=zigbuild suffix= compatible="--zig --compatibility musllinux_1_2" ;;
        *) build=build suffix= compatible= ;;
    esac
    exe=
    case $target in *windows*) exe=.exe ;; esac
    cargo $build --locked --profile dist --target "$target$suffix" -p bentpipe-cli
    program=$target_dir/$target/dist/bentpipe$exe
    case $target in
        *-linux-musl)
            name=bentpipe-$version-$target
            mkdir -p "$out/$name"
            install -m 755 "$program" "$out/$name/bentpipe"
            cp LICENSE-APACHE LICENSE-MIT README.md "$out/NOTICES" "$out/$name/"
            tar -C "$out" --owner=0 --group=0 --numeric-owner --sort=name --mtime=@0 -czf "$out/$name.tar.gz" "$name"
            "$python" packaging/oci.py "$out/$name" "$version" "${target%%-*}" "$out/bentpipe-$version-oci-${target%%-*}.tar"
            rm -r "${out:?}/$name"
            ;;
    esac
    rm -rf crates/python/wheel && mkdir -p crates/python/wheel/scripts crates/python/wheel/data/share/doc/bentpipe
    install -m 755 "$program" crates/python/wheel/scripts/
    cp "$out/NOTICES" crates/python/wheel/data/share/doc/bentpipe/
    # The words are arguments.
    # shellcheck disable=SC2086
    maturin build --quiet --locked --profile dist --manifest-path crates/python/Cargo.toml --target "$target" --out "$out" $compatible
done

if [ "$system" = Linux ]; then
    say "the Debian package"
    make deb OUT="$out"
    mv "$out/bentpipe.deb" "$out/bentpipe_${version}_$(dpkg --print-architecture).deb"
fi

say "bills of material"
for crate in cli python; do
    cargo cyclonedx --quiet --format json --spec-version 1.5 --manifest-path crates/$crate/Cargo.toml --override-filename "bentpipe-$crate.cdx"
    mv "crates/$crate/bentpipe-$crate.cdx.json" "$out/"
    find crates -name "bentpipe-$crate.cdx.json" -delete
done
(cd "$out" && sha256sum -- * > SHA256SUMS)
say "$(wc -l < "$out/SHA256SUMS") files in $out"
