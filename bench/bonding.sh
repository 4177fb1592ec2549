#!/usr/bin/env bash
# One flow of TCP, and one of QUIC (quinn), over two emulated links at once: through two gateways with `bond = true`, through
# gateways with one link, and TCP over MPTCP of the kernel, between the same two network namespaces. Needs root; leaves
# nothing behind.
#
#   bench/bonding.sh [SEEDS [ROWS]]
#
# Prints the share of the sum of both rates that a download used from the call to the last byte, by TCP and by QUIC with CUBIC,
# the seconds for 100 KB, and, where the second link is cut after five seconds, the longest time without a byte: medians over
# the seeds (5 if left out). No gateway knows a rate. ROWS is a pattern for the names of the links.
# shellcheck source=bench/lib.sh
source "$(dirname "$0")/lib.sh"

seeds=${1:-5}
rows=${2:-.}
port=25301
quic_port=25302
quic="$DOWNLOAD --transport quic --certificate $work/certificate --control cubic"

for name in terminal hub; do
    "$BENTPIPE" keygen --key "$work/$name.key" >"$work/$name.said" 2>/dev/null
done
public() {
    grep -oE '[A-Za-z0-9+/]{43}=' "$work/$1.said" | head -1
}

# One row: name, then Mbit/s and round trip in ms of either link, and megabytes.
pairs=(
    "LEO 20 and LTE 10|20|50|10|60|90"
    "LEO 20 and GEO 10|20|50|10|600|90"
)

started=()
leave() {
    local pid
    for pid in "${started[@]}"; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    started=()
    ip netns delete bp-near 2>/dev/null || true
    ip netns delete bp-far 2>/dev/null || true
}
trap 'leave; rm -rf "$work"' EXIT

near() { ip netns exec bp-near "$@"; }
far() { ip netns exec bp-far "$@"; }

# Starts a program that ends with this row: start NAMESPACE COMMAND. Its process is the one that is ended.
start() {
    RUST_LOG=error ip netns exec "$@" &
    started+=($!)
}

# One link between the namespaces: link NUMBER RATE ROUND_TRIP SEED
link() {
    local bytes
    bytes=$(product "$2" "$3")
    "$BENTPIPE" emulate bench/satellite.toml --tun "bpn$1,bpf$1" --seed "$4" \
        --set "links.satellite.rate=$2 Mbit/s" --set "links.satellite.delay=$(($3 / 2)) ms" \
        --set "links.satellite.queue=$bytes B" >"$work/link$1.said" 2>&1 &
    started+=($!)
    links_pids[$1]=$!
    until ip link show "bpf$1" >/dev/null 2>&1; do sleep 0.05; done
    ip link set "bpn$1" netns bp-near
    ip link set "bpf$1" netns bp-far
    near ip address add "10.60.$1.1" peer "10.60.$1.2" dev "bpn$1"
    far ip address add "10.60.$1.2" peer "10.60.$1.1" dev "bpf$1"
    near ip link set "bpn$1" up
    far ip link set "bpf$1" up
}

# The namespaces and both links: world RATE TRIP RATE TRIP SEED
world() {
    local name
    declare -ga links_pids=()
    for name in bp-near bp-far; do
        ip netns add "$name"
        ip netns exec "$name" ip link set lo up
        ip netns exec "$name" bash -c "$tune"
        ip netns exec "$name" sysctl -qw net.mptcp.enabled=1
    done
    link 0 "$1" "$2" "$5"
    link 1 "$3" "$4" "$5"
}

# Gateways, whose terminal has these settings of a second link.
gateways() {
    local backup=$1 address=''
    [ -z "$backup" ] || address='backup = "10.60.1.2:25300"'
    cat >"$work/hub.toml" <<END
role = "hub"
key = "$work/hub.key"
listen = "0.0.0.0:25300"
allow = ["10.60.0.2"]
udp = "tunnel"
${backup:+[backup]}
[peers.terminal]
key = "$(public terminal)"
END
    cat >"$work/terminal.toml" <<END
role = "terminal"
key = "$work/terminal.key"
listen = "0.0.0.0:25300"
udp = "tunnel"
$backup
[[forward]]
listen = "127.0.0.1:$port"
to = "10.60.0.2:$port"
[[forward]]
listen = "127.0.0.1:$quic_port"
to = "10.60.0.2:$quic_port"
protocol = "udp"
[peers.hub]
key = "$(public hub)"
address = "10.60.0.2:25300"
$address
END
    start bp-far "$BENTPIPE" gateway --config "$work/hub.toml"
    start bp-near "$BENTPIPE" gateway --config "$work/terminal.toml"
    # Idle associations learn what their path carries.
    sleep 8
}

# Starts the server, and sets `fetch` to what downloads: prepare TOOL
prepare() {
    fetch="python3 bench/programs/stream.py client"
    case $1 in
    bond) gateways $'[backup]\nbond = true' && target=127.0.0.1 ;;
    first) gateways '' && target=127.0.0.1 ;;
    mptcp)
        fetch+=" --mptcp" target=10.60.0.2
        near ip mptcp endpoint add 10.60.1.1 dev bpn1 subflow
        far ip mptcp endpoint add 10.60.1.2 dev bpf1 signal
        near ip mptcp limits set subflows 4 add_addr_accepted 4
        far ip mptcp limits set subflows 4 add_addr_accepted 4
        ;;
    esac
    start bp-far python3 bench/programs/stream.py server --port "$port" --mptcp
    start bp-far $quic --role server --address "10.60.0.2:$quic_port"
    sleep 1
    fetch+=" --address $target --port $port"
}

printf '%s seeds\n\n| links | tool | share of the sum | by QUIC | 100 KB, s | longest pause where one is cut, s |\n' "$seeds"
printf '|---|---|---:|---:|---:|---:|\n'
for pair in "${pairs[@]}"; do
    IFS='|' read -r name rate0 trip0 rate1 trip1 megabytes <<<"$pair"
    [[ $name =~ $rows ]] || continue
    for tool in ${TOOLS:-bond first mptcp}; do
        rm -f "$work"/result-*
        for ((seed = 1; seed <= seeds; seed++)); do
            world "$rate0" "$trip0" "$rate1" "$trip1" "$seed"
            prepare "$tool"
            near $fetch --bytes 100000 | awk '{ print $2 }' >>"$work/result-short"
            near $fetch --bytes $((megabytes * 1000000)) | awk -v sum=$((rate0 + rate1)) \
                '{ print $1 * 8 / $2 / sum / 1e6 }' >>"$work/result-share"
            if [ "$tool" != mptcp ]; then
                near $quic --role client --address "127.0.0.1:$quic_port" --time-limit 120 \
                    --bytes $((megabytes * 1000000)) | awk -v sum=$((rate0 + rate1)) \
                    '{ print $1 * 8 / $2 / sum / 1e6 }' >>"$work/result-quic"
            fi
            if [ "$tool" != first ]; then
                { sleep 5 && kill "${links_pids[1]}"; } &
                near $fetch --bytes $((megabytes * 500000)) | awk '{ print $3 }' >>"$work/result-pause"
            fi
            leave
        done
        printf '| %s | %s | %.3f | %s | %.3f | %s |\n' "$name" "$tool" "$(median <"$work/result-share")" \
            "$([ "$tool" = mptcp ] || median <"$work/result-quic")" "$(median <"$work/result-short")" "$([ "$tool" = first ] || median <"$work/result-pause")"
    done
done
