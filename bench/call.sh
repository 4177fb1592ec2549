#!/usr/bin/env bash
# A call of 50 datagrams a second beside two downloads by QUIC (quinn) through the tunnel of two gateways over emulated satellite
# links, or through plain routers. Needs root and nft; leaves nothing behind.
#
#   bench/call.sh [ROWS [TOOLS]]
#
# Prints how many datagrams were sent towards the terminal in 20 s, from 5 s after the downloads began, how many of them did not
# arrive, and the milliseconds that half of those that were sent, 99 of 100 and the latest took one way. TOOLS are those of bench/quic.sh.
# shellcheck source=bench/gateways.sh
source "$(dirname "$0")/gateways.sh"

rows=${1:-^GEO 10, (clean|BER|1)}
read -ra tools <<<"${2:-direct-cubic tunnel-cubic shared-cubic}"

# prepare TOOL DOWN UP
prepare() {
    local what=${1%-*} control=${1#*-} gateways=gateway
    everywhere='udp = "tunnel"'
    [ "$what" = tunnel ] || gateways=$what
    local quic="$DOWNLOAD --transport quic --certificate $work/certificate --address $site:25302"
    local call="python3 $PWD/bench/call.py"
    begin "$gateways" "$2" "$3" "sh -c '$call serve $site 25303 & exec $quic --role server --control $control'"
    client+="
        sleep 3
        for each in 1 2; do there $quic --role client --bytes 200000000 --time-limit 40 >/dev/null & done
        sleep 5
        there $call ask $site 25303 20; kill -- \$(jobs -p)"
}

printf '| link | tool | sent | not arrived | half, ms | 99 of 100, ms | latest, ms |\n|---|---|---:|---:|---:|---:|---:|\n'
for link in "${links[@]}"; do
    IFS='|' read -r name down up trip _ settings <<<"$link"
    [[ $name =~ $rows ]] || continue
    for tool in "${tools[@]}"; do
        prepare "$tool" "$down" "$up"
        read -r sent lost half most latest < <(run 1 "$down" "$up" "$trip" "$settings" "$server" "$client")
        printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$name" "$tool" "$sent" "$lost" "$half" "$most" "$latest"
    done
done
