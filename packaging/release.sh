#!/bin/sh
# Makes everything that is handed out, into one folder: wheels, programs, a Debian package, images for containers, notices of third
# parties, bills of material and checksums. Runs on Linux; zig compiles and links for the others, MinGW for Windows.
# Usage: packaging/release.sh DIR [TARGET...]
#
# Without targets they are those below. Whatever fails ends it, so that a folder with SHA256SUMS is complete. What is packed is as old
# as the commit, so that the same programs give the same archives.
set -eu
cd "$(dirname "$0")/.."

out=$1
shift
[ $# != 0 ] || set -- x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl \
    x86_64-pc-windows-gnu aarch64-apple-darwin
python=${PYTHON:-.venv/bin/python}
target_dir=${CARGO_TARGET_DIR:-target}
say() { echo "release: $*" >&2; }

mkdir -p "$out"
[ -z "$(ls -A "$out")" ] || { say "$out is not empty"; exit 1; }
out=$(cd "$out" && pwd)
PATH="$(cd "$(dirname "$python")" && pwd):$PATH"
{ "$python" -c 'import maturin, ziglang' && cargo-zigbuild --version >/dev/null; } ||
    { say "$python has no maturin or no zig: pip install -r packaging/requirements.txt"; exit 1; }
cargo cyclonedx --version 2>/dev/null | grep -q 0.5.9 || cargo install --debug --locked cargo-cyclonedx --version 0.5.9
version=$("$python" - <<'END'
import json, subprocess
packages = json.loads(subprocess.check_output(["cargo", "metadata", "--no-deps", "--format-version", "1"]))["packages"]
print(next(package["version"] for package in packages if package["name"] == "bentpipe-cli"))
END
)
# What writes a time into an archive takes that of the commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# The oldest macOS for its processors; zig takes a new one.
export MACOSX_DEPLOYMENT_TARGET=11.0

say "notices of third parties"
make page
sh packaging/notices.sh "$out/NOTICES"
export NOTICES="$out/NOTICES"

for target in "$@"; do
    say "$target"
    rustup target add "$target"
    exe='' suffix='' features='' build=zigbuild wheel=''
    case $target in
        # The oldest glibc that is served: what bundles take links `getrandom`, which came with 2.25.
        *-linux-gnu) suffix=.2.28 wheel='--zig --compatibility manylinux_2_28' ;;
        *-linux-musl) wheel='--zig --compatibility musllinux_1_2' ;;
        # What the other features take is Linux' own (docs/open-points.md says what). With zig maturin exports a name that is not there.
        *-windows-*)
            exe=.exe features='--no-default-features --features sim' build=build wheel='--compatibility linux'
            command -v x86_64-w64-mingw32-gcc >/dev/null || { say "there is no MinGW: apt install gcc-mingw-w64-x86-64"; exit 1; }
            ;;
        *) features='--no-default-features --features sim' ;;
    esac
    # The words are arguments.
    # shellcheck disable=SC2086
    cargo $build --locked --profile dist --target "$target$suffix" -p bentpipe-cli $features
    program=$target_dir/$target/dist/bentpipe$exe

    # A program for glibc comes in a wheel or in a package.
    case $target in
        *-linux-gnu) ;;
        *)
            name=bentpipe-$version-$target
            mkdir -p "$out/$name"
            install -m 755 "$program" "$out/$name/"
            cp LICENSE-APACHE LICENSE-MIT README.md "$NOTICES" "$out/$name/"
            tar -C "$out" --owner=0 --group=0 --numeric-owner --sort=name --mtime="@$SOURCE_DATE_EPOCH" --mode=u=rwX,go=rX -cf - "$name" |
                gzip -n > "$out/$name.tar.gz"
            case $target in
                *-linux-musl) "$python" packaging/oci.py "$out/$name" "$version" "${target%%-*}" "$out/bentpipe-$version-oci-${target%%-*}.tar" ;;
            esac
            rm -r "${out:?}/$name"
            ;;
    esac

    if [ -n "$wheel" ]; then
        rm -rf crates/python/wheel && mkdir -p crates/python/wheel/scripts crates/python/wheel/data/share/doc/bentpipe
        install -m 755 "$program" crates/python/wheel/scripts/
        cp "$NOTICES" crates/python/wheel/data/share/doc/bentpipe/
        # shellcheck disable=SC2086
        maturin build --quiet --locked --profile dist --manifest-path crates/python/Cargo.toml --target "$target" --out "$out" $wheel
    fi

    if [ "$target" = "$(uname -m)-unknown-linux-gnu" ]; then
        sh packaging/deb.sh "$out/bentpipe_${version}_$(dpkg --print-architecture).deb" "$target"
    fi
done

say "bills of material"
for crate in cli python; do
    # Of all targets: rather a crate too many than one too few. It writes one for each crate of the workspace.
    cargo cyclonedx --quiet --format json --spec-version 1.5 --target all --manifest-path crates/$crate/Cargo.toml \
        --override-filename "bentpipe-$crate.cdx"
    sed "s|file://$PWD/|file:///|g" "crates/$crate/bentpipe-$crate.cdx.json" > "$out/bentpipe-$crate.cdx.json"
    find crates -name "bentpipe-$crate.cdx.json" -delete
done
sums=$(cd "$out" && sha256sum -- *)
echo "$sums" > "$out/SHA256SUMS"
say "$(wc -l < "$out/SHA256SUMS") files in $out"
