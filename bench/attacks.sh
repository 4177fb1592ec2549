#!/usr/bin/env bash
# Attacks on a hub over real sockets, each beside an honest download through it: how fast the download is, how long the
# longest wait for 1,000 bytes takes, and what the hub's memory does. Both gateways, the download and the attacker share
# this machine. Needs root for a network namespace; leaves nothing behind.
#
#   bench/attacks.sh [SECONDS [RATE [ATTACKS]]]
#
# RATE is in datagrams a second. The hub sends to the terminal at 20 Mbit/s.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "${INSIDE:-}" ]; then
    ${CARGO:-cargo} build --quiet --profile dist --locked -p bentpipe-net --example download --example attack \
        -p bentpipe-cli --bin bentpipe
    INSIDE=1 exec unshare --net "$0" "$@"
fi
seconds=${1:-10}
rate=${2:-10000}
attacks=${3:-none garbage replays unknown-peers clients connections far questions parity anything requests}
target=$PWD/${CARGO_TARGET_DIR:-target}/dist
work=$(mktemp -d)
started=()
clean() {
    kill "${started[@]}" 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM
ip link set lo up
ulimit -n 20000

for name in hub terminal hostile; do
    "$target/bentpipe" keygen --key "$work/$name.key" >"$work/$name.said" 2>/dev/null
done
public() {
    grep -oE '[A-Za-z0-9+/]{43}=' "$work/$1.said" | head -1
}
cat >"$work/hub.toml" <<END
role = "hub"
key = "$work/hub.key"
listen = "127.0.0.1:25300"
allow = ["127.0.0.0/8"]
[link]
mode = "dedicated"
rate = "20 Mbit/s"
[peers.terminal]
key = "$(public terminal)"
[peers.hostile]
key = "$(public hostile)"
END
cat >"$work/terminal.toml" <<END
role = "terminal"
key = "$work/terminal.key"
listen = "127.0.0.1:25400"
[link]
mode = "dedicated"
rate = "20 Mbit/s"
[socks5]
listen = "127.0.0.1:1080"
[[forward]]
listen = "127.0.0.1:8000"
to = "127.0.0.1:25301"
[peers.hub]
key = "$(public hub)"
address = "127.0.0.1:25300"
END
"$target/examples/download" --role server --transport tcp --address 127.0.0.1:25301 &
started+=($!)
for name in hub terminal; do
    RUST_LOG=error "$target/bentpipe" gateway --config "$work/$name.toml" 2>"$work/$name.log" &
    started+=($!)
done
hub=${started[1]}
sleep 2

fetch() {
    "$target/examples/download" --role client --transport tcp --address 127.0.0.1:8000 "$@"
}
resident() {
    awk '/VmRSS/ { print $2 }' "/proc/$hub/status"
}
# Buffers and code are in memory once they were used.
fetch --bytes $((seconds * 2000000)) --time-limit "$seconds" >/dev/null
printf '| attack | download, Mbit/s | longest wait for 1,000 bytes, s | hub before, kB | after, kB | what was sent |\n'
printf '|---|---:|---:|---:|---:|---|\n'
for attack in $attacks; do
    before=$(resident)
    case $attack in
    none) sleep "$((seconds + 2))" >"$work/sent" & ;;
    clients)
        "$target/examples/attack" clients --to 127.0.0.1:1080 --seconds "$((seconds + 2))" >"$work/sent" & ;;
    *)
        "$target/examples/attack" "$attack" --to 127.0.0.1:25300 --hub "$(public hub)" --key "$work/hostile.key" \
            --seconds "$((seconds + 2))" --rate "$rate" >"$work/sent" & ;;
    esac
    attacker=$!
    started+=("$attacker")
    sleep 1
    fetch --bytes 1000000000 --time-limit "$seconds" >"$work/took" &
    download=$!
    started+=("$download")
    longest=0
    while kill -0 "$download" 2>/dev/null; do
        took=$(fetch --bytes 1000 --time-limit 30 | awk '{ print $1 < 1000 ? 30 : $2 }')
        longest=$(awk "BEGIN { print ($took > $longest) ? $took : $longest }")
        sleep 0.2
    done
    wait "$attacker" || echo "it failed" >"$work/sent"
    sleep 1
    printf '| %s | %.1f | %s | %s | %s | %s |\n' "$attack" "$(awk '{ print $1 * 8 / $2 / 1e6 }' "$work/took")" \
        "$longest" "$before" "$(resident)" "$(cat "$work/sent")"
done
cat "$work/hub.log" "$work/terminal.log" >&2
