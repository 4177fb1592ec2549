#!/usr/bin/env bash
# Downloads over emulated satellite links: Bentpipe on an association that is up, beside the kernel's
# TCP (CUBIC and BBR) on the same links, one after the other. Needs root; leaves nothing behind.
#
#   bench/satellite.sh [SEEDS [ROWS [TOOLS]]]
#
# Prints the share of the link's rate that a download used from the call to the last byte: medians over
# the seeds (5 if left out). ROWS is a pattern for the names of the links, such as 'GEO 10',
# TOOLS some of 'bentpipe cubic bbr'. A download
# that is not over after a minute counts as far as it came.
set -euo pipefail
cd "$(dirname "$0")/.."

seeds=${1:-5}
rows=${2:-.}
read -ra tools <<<"${3:-bentpipe cubic bbr}"
patience=60
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

if [ "$(id -u)" -ne 0 ]; then
    echo "satellite.sh: needs root for network namespaces" >&2
    exit 1
fi
if [ -z "${DOWNLOAD:-}" ] || [ -z "${BENTPIPE:-}" ]; then
    ${CARGO:-cargo} build --quiet --release --locked -p bentpipe-net --example download -p bentpipe-cli --bin bentpipe
    DOWNLOAD=${CARGO_TARGET_DIR:-target}/release/examples/download
    BENTPIPE=${CARGO_TARGET_DIR:-target}/release/bentpipe
fi

# The emulator's namespaces have settings of their own: buffers for every link of the table.
tune='sysctl -qw net.ipv4.tcp_rmem="4096 1000000 64000000" net.ipv4.tcp_wmem="4096 1000000 64000000"'

# One row: name, Mbit/s down and up, round trip in ms, megabytes, then settings of the link.
links=(
    "GEO 10, clean|10|10|600|30|"
    "GEO 10, BER 1e-6|10|10|600|30|ber=1e-6"
    "GEO 10, BER 1e-5|10|10|600|30|ber=1e-5"
    "GEO 10, 1 % loss|10|10|600|30|loss=0.01"
    "GEO 50, clean|50|50|600|100|"
    "GEO 50, BER 1e-6|50|50|600|100|ber=1e-6"
    "GEO 50, BER 1e-5|50|50|600|100|ber=1e-5"
    "GEO 50, 1 % loss|50|50|600|100|loss=0.01"
    "LEO 20, 1 % loss|20|20|50|60|loss=0.01"
    "LEO 20, dark 0.5 s every 15 s|20|20|50|60|blackout_every={ first = \"15 s\", every = \"15 s\", lasts = \"500 ms\" }"
    "GEO 10 down, 64 kbit/s up|10|0.064|600|30|"
)

# Runs downloads behind one link and prints bytes and seconds of each.
#   run SEED DOWN UP ROUND_TRIP SETTINGS SERVER CLIENT
run() {
    local seed=$1 down=$2 up=$3 trip=$4 settings=$5 server=$6 client=$7
    local sets=(
        --set "links.satellite.rate=$down Mbit/s"
        --set "links.satellite.delay=$((trip / 2)) ms"
        --set "links.satellite.queue=$(product "$down" "$trip") B"
        --set "links.satellite.back.rate=$up Mbit/s"
        --set "links.satellite.back.queue=$(product "$up" "$trip") B"
    )
    [ -z "$settings" ] || sets+=(--set "links.satellite.$settings")
    "$BENTPIPE" emulate bench/satellite.toml "${sets[@]}" --seed "$seed" --netns --mtu 1500 \
        --server "$server" -- sh -c "$client" 2>"$work/said" || {
        cat "$work/said" >&2
        return 1
    }
}

# A bandwidth-delay product in bytes, 20,000 at least.
product() {
    awk -v rate="$1" -v trip="$2" 'BEGIN { b = rate * trip * 125; print int(b < 20000 ? 20000 : b) }'
}

bentpipe() {
    local down=$1 up=$2 bytes=$3 flows=${4:-1}
    common="$DOWNLOAD --transport bentpipe --address 10.53.0.2:25300"
    [ -z "$down" ] || down="--rate ${down}Mbit/s"
    [ -z "$up" ] || up="--rate ${up}Mbit/s"
    server="$common --role server $down"
    client="$common --role client $up --bytes $bytes --flows $flows --patience $patience"
}

tcp() {
    local control=$1 bytes=$2
    common="$tune; exec $DOWNLOAD --transport tcp --address 10.53.0.2:25300"
    server="$common --role server --control $control"
    client="$common --role client --bytes $bytes --patience $patience"
}

# The median share of the rate over the lines of a file.
share() {
    awk -v rate="$1" '{ print $1 * 8 / $2 / rate / 1e6 }' "$2" | sort -g |
        sed -n "$(((seeds + 1) / 2))p"
}

printf '%s seeds, share of the rate of the link\n\n' "$seeds"
printf '| %-30s |' link
printf ' %8s |' "${tools[@]}"
printf '\n|--------------------------------|'
for _ in "${tools[@]}"; do printf -- '---------:|'; done
printf '\n'
for link in "${links[@]}"; do
    IFS='|' read -r name down up trip megabytes settings <<<"$link"
    [[ $name =~ $rows ]] || continue
    bytes=$((megabytes * 1000000))
    rm -f "$work"/results-*
    for ((seed = 1; seed <= seeds; seed++)); do
        for tool in "${tools[@]}"; do
            if [ "$tool" = bentpipe ]; then
                bentpipe "$down" "$up" "$bytes"
            else
                tcp "$tool" "$bytes"
            fi
            run "$seed" "$down" "$up" "$trip" "$settings" "$server" "$client" \
                >>"$work/results-$tool"
        done
    done
    printf '| %-30s |' "$name"
    for tool in "${tools[@]}"; do printf ' %8.3f |' "$(share "$down" "$work/results-$tool")"; done
    printf '\n'
done
