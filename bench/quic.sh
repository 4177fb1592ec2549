#!/usr/bin/env bash
# QUIC (quinn) through the tunnel of two gateways over emulated satellite links, beside the same QUIC through plain
# routers. Needs root and nft; leaves nothing behind.
#
#   bench/quic.sh [SEEDS [ROWS [TOOLS]]]
#
# Prints the share of the link's rate that one download of 30 MB used from the call to the last byte, medians over the seeds
# (5 if left out). TOOLS are WHAT-CONTROL: `direct` for plain routers, `tunnel` and `shared` for gateways that know the
# rate and that do not, `fixed` for a tunnel with parity of FEC (a fifth if it is not set) whatever is lost and no waiting, `waits` for the
# same with order and one retransmission; `cubic` or `bbr`. A download that is not over after two minutes counts as far as it came.
# shellcheck source=bench/gateways.sh
source "$(dirname "$0")/gateways.sh"

seeds=${1:-5}
rows=${2:-^GEO 10, (clean|BER|1)}
read -ra tools <<<"${3:-direct-cubic tunnel-cubic shared-cubic fixed-cubic direct-bbr tunnel-bbr shared-bbr}"

# prepare TOOL DOWN UP BYTES
prepare() {
    local what=${1%-*} control=${1#*-} gateways
    everywhere='udp = "tunnel"' link_settings='' gateways=gateway
    case $what in
    fixed) everywhere='udp = { mode = "tunnel", deadline = "0 s" }' link_settings="fec = ${FEC:-0.2}" ;;
    waits) link_settings="fec = ${FEC:-0.2}" ;;
    shared) gateways=shared ;;
    direct) gateways=direct ;;
    esac
    local quic="$DOWNLOAD --transport quic --certificate $work/certificate --address $site:25302"
    begin "$gateways" "$2" "$3" "$quic --role server --control $control"
    client+="
        sleep 3
        there $quic --role client --bytes $4 --time-limit 120; kill -- \$(jobs -p)"
}

shares "$seeds" "$rows" "${tools[@]}"
