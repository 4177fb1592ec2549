#!/usr/bin/env bash
# Encrypted throughput between two network namespaces over a veth pair, and the CPU time that it takes:
# Bentpipe beside QUIC (quinn), on the same machine, in turns. Needs root; leaves nothing behind.
#
#   bench/fastpath.sh [BYTES [REPEATS]]
#
# Prints the medians. CPU seconds are those of the whole process, user and system.
set -euo pipefail
cd "$(dirname "$0")/.."

bytes=${1:-2000000000}
repeats=${2:-3}
# Longest time for one transfer, in seconds.
time_limit=300
port=25300
near=bentpipe-near-$$
far=bentpipe-far-$$
work=$(mktemp -d)
server=

if [ "$(id -u)" -ne 0 ]; then
    echo "fastpath.sh: needs root for network namespaces" >&2
    exit 1
fi

clean() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    ip netns del "$near" 2>/dev/null || true
    ip netns del "$far" 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

if [ -z "${BLAST:-}" ]; then
    ${CARGO:-cargo} build --quiet --profile dist --locked -p bentpipe-net --example blast
    BLAST=${CARGO_TARGET_DIR:-target}/dist/examples/blast
fi

ip netns add "$near"
ip netns add "$far"
ip link add "veth$$" netns "$near" type veth peer name "veth$$" netns "$far"
ip -n "$near" addr add 10.213.0.1/30 dev "veth$$"
ip -n "$far" addr add 10.213.0.2/30 dev "veth$$"
ip -n "$near" link set "veth$$" up
ip -n "$far" link set "veth$$" up

# One transfer: bytes, seconds and CPU seconds of the sender and of the receiver into the file `$1`.
run() {
    local into=$1 word
    shift
    local common=(--address "10.213.0.2:$port" --bytes "$bytes" --certificate "$work/certificate" "$@")
    rm -f "$work/said"
    mkfifo "$work/said"
    # `exec`, so that the process to be ended is the server itself.
    (exec ip netns exec "$far" timeout "$time_limit" "$BLAST" --role server "${common[@]}") \
        >"$work/said" &
    server=$!
    exec 3<"$work/said"
    read -r word <&3
    [ "$word" = ready ]
    ip netns exec "$near" timeout "$time_limit" "$BLAST" --role client "${common[@]}" >"$work/sent"
    cat <&3 >"$work/received"
    exec 3<&-
    wait "$server"
    server=
    paste -d ' ' "$work/sent" "$work/received" >>"$into"
}

# The median of what an awk expression makes of the lines of a file.
median() {
    awk "{ print $1 }" "$2" | sort -g | sed -n "$(((repeats + 1) / 2))p"
}

names=("Bentpipe, finds the rate" "Bentpipe, 5 Gbit/s" "QUIC (quinn)")
settings=("--transport bentpipe" "--transport bentpipe --rate 5Gbit/s" "--transport quinn")

for ((turn = 0; turn < repeats; turn++)); do
    for index in "${!settings[@]}"; do
        # shellcheck disable=SC2086 # each setting is several words
        run "$work/results-$index" ${settings[index]}
    done
done

rule=$(printf -- '-%.0s' {1..30})
printf '\n%s bytes over veth, median of %s\n\n' "$bytes" "$repeats"
printf '| %-26s | %8s | %15s | %15s |\n' transport 'Gbit/s' 'sender CPU s/GB' 'recvr. CPU s/GB'
printf '|-%.26s-|-%.8s:|-%.15s:|-%.15s:|\n' "$rule" "$rule" "$rule" "$rule"
for index in "${!settings[@]}"; do
    file=$work/results-$index
    printf '| %-26s | %8.2f | %15.2f | %15.2f |\n' "${names[index]}" \
        "$(median '$1 * 8 / $2 / 1e9' "$file")" \
        "$(median '$3 * 1e9 / $1' "$file")" \
        "$(median '$6 * 1e9 / $4' "$file")"
done
