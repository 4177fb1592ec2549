#!/usr/bin/env bash
# The gateway over emulated satellite links: TCP between a host behind a terminal and one behind a hub, whose
# kernels know nothing of it, beside the same TCP (CUBIC and BBR at the server) through plain routers.
# Needs root and nft; leaves nothing behind.
#
#   bench/gateway.sh [SEEDS [ROWS [TOOLS [OBJECTS]]]]
#
# Prints the share of the link's rate that a download used from the call to the last byte, then the time to the first
# byte, for 100 KB and for 100 KB beside eight downloads: medians over the seeds (5 if left out). ROWS is a pattern
# for the names of the links, such as 'GEO 10', TOOLS some of 'gateway shared cubic bbr' (`shared` is the gateway without
# a known rate). So many OBJECTS of 100 KB go before each download (none if left out). A download that is not over after a minute
# counts as far as it came.
# shellcheck source=bench/gateways.sh
source "$(dirname "$0")/gateways.sh"

seeds=${1:-5}
rows=${2:-.}
read -ra tools <<<"${3:-gateway cubic bbr}"
objects=${4:-0}
time_limit=60

# Sets $server, and $client to what comes before the downloads: hosts TOOL DOWN UP
hosts() {
    local control=cubic
    [[ $1 =~ ^(gateway|shared)$ ]] || control=$1
    begin "$1" "$2" "$3" "$DOWNLOAD --role server --transport tcp --address $site:25301 --control $control"
    client+="
        fetch() { there $DOWNLOAD --role client --transport tcp --address $site:25301 \"\$@\"; }"
}

# prepare TOOL DOWN UP BYTES
prepare() {
    hosts "$1" "$2" "$3"
    client+="
        for ((n = 0; n < $objects; n++)); do fetch --bytes 100000 --time-limit 20 >/dev/null; done
        fetch --bytes $4 --time-limit $time_limit; kill -- \$(jobs -p)"
}

# Times of objects, in seconds.
times() {
    local name down up trip megabytes settings tool seed
    printf '\nSeconds to the first byte, for 100 KB, and for 100 KB beside eight downloads\n\n'
    printf '| link | tool | first byte | 100 KB | 100 KB beside eight |\n|---|---|---:|---:|---:|\n'
    for link in "${links[@]}"; do
        IFS='|' read -r name down up trip megabytes settings <<<"$link"
        [[ $name =~ $rows && $name =~ ^GEO\ 10,\ (clean|1) ]] || continue
        for tool in "${tools[@]}"; do
            rm -f "$work"/times
            for ((seed = 1; seed <= seeds; seed++)); do
                hosts "$tool" "$down" "$up"
                client+="
                    fetch --bytes 1 --time-limit 20
                    fetch --bytes 100000 --time-limit 20
                    fetch --bytes 50000000 --flows 8 --time-limit 20 >/dev/null &
                    sleep 10
                    fetch --bytes 100000 --time-limit 60; kill -- \$(jobs -p)"
                run "$seed" "$down" "$up" "$trip" "$settings" "$server" "$client" |
                    awk '{ print $2 }' | xargs >>"$work/times"
            done
            printf '| %s | %s |' "$name" "$tool"
            for column in 1 2 3; do printf ' %.3f |' "$(cut -d' ' -f$column "$work/times" | median)"; done
            printf '\n'
        done
    done
}

shares "$seeds" "$rows" "${tools[@]}"
times
