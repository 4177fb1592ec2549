#!/usr/bin/env bash
# A download through both gateways, encrypted, over veth pairs and without an emulator: throughput, and the CPU time of
# the gateways. Needs root and nft; leaves nothing behind.
#
#   bench/gateway_fastpath.sh [BYTES [REPEATS]]
#
# Prints the medians. CPU seconds are those of the whole processes, user and system, without those of the hosts.
# shellcheck source=bench/gateways.sh
source "$(dirname "$0")/gateways.sh"

bytes=${1:-2000000000}
repeats=${2:-3}
time_limit=300
hosts=()
gateways=()
server=

clean() {
    kill "${gateways[@]}" $server "${hosts[@]}" 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT

# A host without devices; its process is $made afterwards.
host() {
    unshare --net sleep infinity &
    made=$!
    hosts+=("$made")
    until [ "$(readlink "/proc/$made/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
    on "$made" sh -c "ip link set lo up; $tune"
}
on() {
    nsenter -t "$1" -n "${@:2}"
}
# cable HOST DEVICE ADDRESS HOST DEVICE ADDRESS
cable() {
    on "$1" ip link add "$2" type veth peer name "$5" netns "$4"
    on "$1" ip address add "$3/24" dev "$2"
    on "$4" ip address add "$6/24" dev "$5"
    on "$1" ip link set "$2" up
    on "$4" ip link set "$5" up
}
host; client=$made
host; terminal=$made
host; hub=$made
host; far=$made
cable "$client" eth0 10.61.1.2 "$terminal" lan0 10.61.1.1
cable "$terminal" sat0 10.53.0.1 "$hub" sat0 10.53.0.2
cable "$hub" lan0 10.61.3.1 "$far" eth0 "$site"
on "$client" ip route add default via 10.61.1.1
on "$far" ip route add default via 10.61.3.1
nsenter -t "$far" -n "$DOWNLOAD" --role server --transport tcp --address "$site:25301" &
server=$!

# Starts the gateway of a host with the configuration of this name.
start() {
    nsenter -t "$1" -n env RUST_LOG=warn "$BENTPIPE" gateway --setup-firewall --config "$work/$2.toml" &
    gateways+=("$!")
}
# CPU seconds of a process so far.
cpu() {
    awk -v ticks="$(getconf CLK_TCK)" '{ print ($14 + $15) / ticks }' "/proc/$1/stat"
}
fetch() {
    on "$client" "$DOWNLOAD" --role client --transport tcp --address "$site:25301" --time-limit "$time_limit" --bytes "$1"
}

# One download: bytes, seconds and CPU seconds of terminal and hub into the file `$1`; `$2` is the rate in Mbit/s or
# nothing.
download() {
    local before after
    configure hub "$2" 'allow = ["10.61.3.0/24"]' terminal ''
    configure terminal "$2" '' hub 'address = "10.53.0.2:25300"'
    printf '[transparent]\nport = 25310\ninterfaces = ["lan0"]\n' >>"$work/terminal.toml"
    gateways=()
    start "$hub" hub
    start "$terminal" terminal
    sleep 3
    fetch 1000 >"$work/first"
    before="$(cpu "${gateways[1]}") $(cpu "${gateways[0]}")"
    fetch "$bytes" >"$work/took"
    after="$(cpu "${gateways[1]}") $(cpu "${gateways[0]}")"
    echo "$(cat "$work/took") $before $after" | awk '{ print $1, $2, $5 - $3, $6 - $4 }' >>"$1"
    kill "${gateways[@]}"
    wait "${gateways[@]}" || true
}

names=("finds the rate" "dedicated, 5 Gbit/s")
rates=("" 5000)
for ((turn = 0; turn < repeats; turn++)); do
    for index in "${!rates[@]}"; do
        download "$work/results-$index" "${rates[index]}"
    done
done

printf '%s bytes over veth, median of %s\n\n' "$bytes" "$repeats"
printf '| link | Gbit/s | terminal CPU s/GB | hub CPU s/GB | both |\n|---|---:|---:|---:|---:|\n'
for index in "${!rates[@]}"; do
    printf '| %s |' "${names[index]}"
    # shellcheck disable=SC2016 # awk expands them
    for value in '$1 * 8 / $2 / 1e9' '$3 * 1e9 / $1' '$4 * 1e9 / $1' '($3 + $4) * 1e9 / $1'; do
        printf ' %.2f |' "$(awk "{ print $value }" "$work/results-$index" | median)"
    done
    printf '\n'
done
