#!/bin/sh
# Installs a package, looks whether everything is there and works, removes it, and looks whether nothing is left.
# Usage, as root: packaging/test-deb.sh FILE.deb
set -eu

deb=$1
fail() { echo "test-deb: $*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || fail "only root can install packages"
if dpkg -s bentpipe >/dev/null 2>&1; then fail "bentpipe is installed here; remove it first"; fi
[ ! -e /etc/bentpipe ] || fail "/etc/bentpipe is there already"

dir=$(mktemp -d)
trap 'dpkg --purge bentpipe >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
dpkg -i "$deb" >/dev/null
dpkg -L bentpipe > "$dir/files"

for file in \
    /usr/bin/bentpipe \
    /usr/lib/systemd/system/bentpipe-gateway.service \
    /usr/lib/sysusers.d/bentpipe.conf \
    /usr/share/bash-completion/completions/bentpipe \
    /usr/share/zsh/vendor-completions/_bentpipe \
    /usr/share/fish/vendor_completions.d/bentpipe.fish \
    /usr/share/man/man1/bentpipe.1.gz \
    /usr/share/man/man1/bentpipe-gateway.1.gz \
    /usr/share/man/man1/bentpipe-top.1.gz \
    /usr/share/man/man5/bentpipe-gateway.5.gz \
    /usr/share/doc/bentpipe/copyright \
    /usr/share/doc/bentpipe/NOTICES \
    /usr/share/doc/bentpipe/examples/terminal.toml \
    /usr/share/doc/bentpipe/examples/hub.toml \
    /usr/share/doc/bentpipe/examples/transparent.conf \
    /usr/share/doc/bentpipe/examples/grafana.json
do
    [ -f "$file" ] || fail "$file is missing"
    grep -qx "$file" "$dir/files" || fail "$file is not of the package"
done
getent passwd bentpipe >/dev/null || fail "there is no user bentpipe"
[ "$(stat -c '%a %U %G' /etc/bentpipe)" = "750 root bentpipe" ] || fail "/etc/bentpipe has other rights"

bentpipe --version >/dev/null
bentpipe keygen --key /etc/bentpipe/key >/dev/null 2>&1
chown bentpipe: /etc/bentpipe/key
for role in terminal hub; do
    example=/usr/share/doc/bentpipe/examples/$role.toml
    if bentpipe gateway --check "$example" >/dev/null 2>&1; then fail "the key in $example is taken for a peer's"; fi
    peer=$(bentpipe keygen --key "$dir/$role.key" 2>/dev/null)
    sed "s|ReplaceThisWithTheKeyThatTheOtherEndPrints0=|$peer|" "$example" > "$dir/$role.toml"
    bentpipe gateway --check "$dir/$role.toml" >/dev/null || fail "$example is not a configuration"
done
if command -v systemd-analyze >/dev/null; then
    systemd-analyze verify --man=no /usr/lib/systemd/system/bentpipe-gateway.service ||
        fail "the unit is not good"
fi
rm /etc/bentpipe/key

dpkg --purge bentpipe >/dev/null
while read -r file; do
    if [ -e "$file" ] && [ ! -d "$file" ]; then fail "$file is left"; fi
done < "$dir/files"
for left in /etc/bentpipe /usr/share/doc/bentpipe; do
    [ ! -e "$left" ] || fail "$left is left"
done
if getent passwd bentpipe >/dev/null; then fail "the user is left"; fi
echo "$deb: installed, checked and removed"
