#!/usr/bin/env bash
# How two downloads share an emulated link without errors when nobody has named a rate: two of Bentpipe,
# and one of Bentpipe beside one of the kernel's TCP with CUBIC. Needs root; leaves nothing behind.
#
#   bench/sharing.sh [SECONDS]
#
# Prints the share of the link's rate that each download had over that time (120 s if left out), and how much later
# than the first the second one of two equal downloads ends, which take about as long.
set -euo pipefail
cd "$(dirname "$0")/.."

patience=${1:-120}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

if [ "$(id -u)" -ne 0 ]; then
    echo "sharing.sh: needs root for network namespaces" >&2
    exit 1
fi
if [ -z "${DOWNLOAD:-}" ] || [ -z "${BENTPIPE:-}" ]; then
    ${CARGO:-cargo} build --quiet --release --locked -p bentpipe-net --example download -p bentpipe-cli --bin bentpipe
    DOWNLOAD=${CARGO_TARGET_DIR:-target}/release/examples/download
    BENTPIPE=${CARGO_TARGET_DIR:-target}/release/bentpipe
fi

tune='sysctl -qw net.ipv4.tcp_rmem="4096 1000000 64000000" net.ipv4.tcp_wmem="4096 1000000 64000000"'
# More than the link carries in the time.
endless=10000000000
# Servers do not outlive the measurement.
server="timeout $((3 * patience + 30)) $DOWNLOAD --role server"
client="$DOWNLOAD --role client --bytes $endless --patience $patience"
bentpipe="--transport bentpipe --address 10.53.0.2:25300"
tcp="--transport tcp --address 10.53.0.2:25301"

# Runs what a shell does at either end of a link: run RATE ROUND_TRIP SERVER CLIENT [SEED]
run() {
    local product=$(($1 * $2 * 125))
    "$BENTPIPE" emulate bench/satellite.toml --netns --mtu 1500 --seed "${5:-1}" \
        --set "links.satellite.rate=$1 Mbit/s" --set "links.satellite.delay=$(($2 / 2)) ms" \
        --set "links.satellite.queue=$product B" --set "links.satellite.back.queue=$product B" \
        --server "$3" -- sh -c "$4" 2>"$work/said" || {
        cat "$work/said" >&2
        return 1
    }
}

links=("GEO 10|10|600" "LEO 20|20|50")

# The shares of the rate on two lines of a file, in one line.
shares() {
    awk -v rate="$1" '{ printf " %.3f |", $1 * 8 / $2 / rate / 1e6 }' "$2"
}

printf 'Shares of the rate of the link over %s s\n\n' "$patience"
printf '| link | two downloads | first | second |\n|---|---|---:|---:|\n'
for link in "${links[@]}"; do
    IFS='|' read -r name rate trip <<<"$link"
    run "$rate" "$trip" "exec $server $bentpipe" "exec $client $bentpipe --flows 2" >"$work/result"
    printf '| %s | Bentpipe, Bentpipe |%s\n' "$name" "$(shares "$rate" "$work/result")"
    # Bentpipe first brings its association up, for three seconds.
    run "$rate" "$trip" "$tune; $server $tcp --control cubic & exec $server $bentpipe" \
        "$client $bentpipe >$work/ours & sleep 3; $client $tcp >$work/theirs; wait"
    cat "$work/ours" "$work/theirs" >"$work/result"
    printf '| %s | Bentpipe, TCP CUBIC |%s\n' "$name" "$(shares "$rate" "$work/result")"
done

printf '\nTwo equal downloads of Bentpipe, each of the bytes that half the link carries in %s s\n\n' "$patience"
printf '| link | seed | first ends after | second ends later by |\n|---|---:|---:|---:|\n'
for link in "${links[@]}"; do
    IFS='|' read -r name rate trip <<<"$link"
    for seed in 1 2 3; do
        each="$DOWNLOAD --role client --bytes $((rate * patience * 62500)) --patience $((2 * patience))"
        run "$rate" "$trip" "exec $server $bentpipe" "exec $each $bentpipe --flows 2" "$seed" >"$work/result"
        ends=$(awk '{ print $2 }' "$work/result" | sort -n | xargs |
            awk '{ printf "%.1f s | %.1f %%", $1, ($2 / $1 - 1) * 100 }')
        printf '| %s | %s | %s |\n' "$name" "$seed" "$ends"
    done
done
