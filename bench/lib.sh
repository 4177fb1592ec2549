# What the benchmarks over emulated satellite links share; to be sourced by them with bash.
# shellcheck shell=bash

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

if [ "$(id -u)" -ne 0 ]; then
    echo "$0: needs root for network namespaces" >&2
    exit 1
fi
if [ -z "${DOWNLOAD:-}" ] || [ -z "${BENTPIPE:-}" ]; then
    echo "$0: builds the programs first, as DOWNLOAD and BENTPIPE do not name them; a first time takes ten minutes" >&2
    ${CARGO:-cargo} build --quiet --profile dist --locked -p bentpipe-net --example download -p bentpipe-cli --bin bentpipe
    DOWNLOAD=$PWD/${CARGO_TARGET_DIR:-target}/dist/examples/download
    BENTPIPE=$PWD/${CARGO_TARGET_DIR:-target}/dist/bentpipe
fi

# Namespaces have settings of their own: buffers for every link of the table.
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
    "LEO 20, outage of 0.5 s every 15 s|20|20|50|60|blackout_every={ first = \"15 s\", every = \"15 s\", lasts = \"500 ms\" }"
    "GEO 10 down, 64 kbit/s up|10|0.064|600|30|"
)

# The settings of the scenario gateway-geo that make it the link which was read last, in `sets`.
#   scenario_sets dedicated|shared
scenario_sets() {
    sets=(
        --set "links.satellite.rate=$down Mbit/s"
        --set "links.satellite.delay=$((trip / 2)) ms"
        --set "links.satellite.queue=$(product "$down" "$trip") B"
        --set "links.satellite.return.rate=$up Mbit/s"
        --set "links.satellite.return.queue=$(product "$up" "$trip") B"
        --set "flows.file.size=$megabytes MB"
    )
    [ -z "$settings" ] || sets+=(--set "links.satellite.$settings")
    [ "$1" = shared ] ||
        sets+=(--set "gateway.hub.rate=$down Mbit/s" --set "gateway.terminal.rate=$up Mbit/s")
}

# Runs what a shell does at either end of a link and prints what the near end prints.
#   run SEED DOWN UP ROUND_TRIP SETTINGS SERVER CLIENT
run() {
    local seed=$1 down=$2 up=$3 trip=$4 settings=$5 server=$6 client=$7
    local sets=(
        --set "links.satellite.rate=$down Mbit/s"
        --set "links.satellite.delay=$((trip / 2)) ms"
        --set "links.satellite.queue=$(product "$down" "$trip") B"
        --set "links.satellite.return.rate=$up Mbit/s"
        --set "links.satellite.return.queue=$(product "$up" "$trip") B"
    )
    [ -z "$settings" ] || sets+=(--set "links.satellite.$settings")
    "$BENTPIPE" emulate bench/satellite.toml "${sets[@]}" --seed "$seed" --netns --mtu 1500 \
        --server "$server" -- bash -c "$client" 2>"$work/said" || {
        cat "$work/said" >&2
        return 1
    }
}

# A bandwidth-delay product in bytes, 20,000 at least.
product() {
    awk -v rate="$1" -v trip="$2" 'BEGIN { b = rate * trip * 125; print int(b < 20000 ? 20000 : b) }'
}

# The median of the numbers on the standard input.
median() {
    sort -g | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}

# A table of the shares of the rate that downloads use, medians over the seeds.
#   shares SEEDS ROWS TOOL...
# ROWS is a pattern for the names of the links. `prepare TOOL DOWN UP BYTES` sets $server and $client.
shares() {
    local seeds=$1 rows=$2 tools=("${@:3}") link tool seed name down up trip megabytes settings
    printf '%s seeds, share of the rate of the link\n\n| %-30s |' "$seeds" link
    printf ' %8s |' "${tools[@]}"
    printf '\n|--------------------------------|'
    printf -- '---------:|%.0s' "${tools[@]}"
    printf '\n'
    for link in "${links[@]}"; do
        IFS='|' read -r name down up trip megabytes settings <<<"$link"
        [[ $name =~ $rows ]] || continue
        rm -f "$work"/results-*
        for ((seed = 1; seed <= seeds; seed++)); do
            for tool in "${tools[@]}"; do
                prepare "$tool" "$down" "$up" $((megabytes * 1000000))
                run "$seed" "$down" "$up" "$trip" "$settings" "$server" "$client" \
                    >>"$work/results-$tool"
            done
        done
        printf '| %-30s |' "$name"
        for tool in "${tools[@]}"; do
            printf ' %8.3f |' "$(awk -v rate="$down" '{ print $1 * 8 / $2 / rate / 1e6 }' "$work/results-$tool" | median)"
        done
        printf '\n'
    done
}
