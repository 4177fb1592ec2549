#!/usr/bin/env bash
# The gateway over emulated satellite links: TCP between a host behind a terminal and one behind a hub, whose
# kernels know nothing of it, beside the same TCP (CUBIC and BBR at the server) through plain routers.
# Needs root and nft; leaves nothing behind.
#
#   bench/gateway.sh [SEEDS [ROWS [TOOLS]]]
#
# Prints the share of the link's rate that a download used from the call to the last byte, then the time to the first
# byte, for 100 KB and for 100 KB beside eight downloads: medians over the seeds (5 if left out). ROWS is a pattern
# for the names of the links, such as 'GEO 10', TOOLS some of 'gateway cubic bbr'. A download that is not over after a
# minute counts as far as it came.
# shellcheck source=bench/lib.sh
source "$(dirname "$0")/lib.sh"

seeds=${1:-5}
rows=${2:-.}
read -ra tools <<<"${3:-gateway cubic bbr}"
patience=60

for name in terminal hub; do
    "$BENTPIPE" keygen --key "$work/$name.key" >"$work/$name.said"
done
public() {
    grep -oE '[A-Za-z0-9+/]{43}=' "$work/$1.said" | head -1
}

# A host behind this end: behind NETWORK OTHER_NETWORK NEXT; its process is $host afterwards.
behind() {
    cat <<END
unshare --net sleep 600 & host=\$!
until [ "\$(readlink /proc/\$host/ns/net)" != "\$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add lan0 type veth peer name eth0 netns \$host
ip address add $1.1/24 dev lan0; ip link set lan0 up
nsenter -t \$host -n sh -c 'ip address add $1.2/24 dev eth0; ip link set lo up; ip link set eth0 up
    ip route add default via $1.1; $tune'
ip route add $2.0/24 via $3
echo 1 >/proc/sys/net/ipv4/ip_forward
END
}

# configure NAME RATE SETTINGS PEER PEER_SETTINGS
configure() {
    cat >"$work/$1.toml" <<END
role = "$1"
key = "$work/$1.key"
listen = "0.0.0.0:25300"
$3
[link]
mode = "dedicated"
rate = "$2 Mbit/s"
[limits]
buffer = "20 MB"
[peers.$4]
key = "$(public "$4")"
$5
END
}

# Sets $server, and $client to what comes before the downloads: begin TOOL DOWN UP
begin() {
    local tool=$1 down=$2 up=$3 control=cubic gateway=true
    if [ "$tool" = gateway ]; then
        configure hub "$down" 'allow = ["10.61.3.0/24"]' terminal ''
        configure terminal "$up" '' hub 'address = "10.53.0.2:25300"'
        printf '[transparent]\nport = 25310\ninterfaces = ["lan0"]\n' >>"$work/terminal.toml"
        gateway="RUST_LOG=warn $BENTPIPE gateway --setup-firewall --config $work"
    else
        control=$tool
    fi
    server="$(behind 10.61.3 10.61.1 10.53.0.1)
        [ $tool != gateway ] || $gateway/hub.toml & 
        exec nsenter -t \$host -n $DOWNLOAD --role server --transport tcp --address 10.61.3.2:25301 --control $control"
    client="$(behind 10.61.1 10.61.3 10.53.0.2)
        [ $tool != gateway ] || { $gateway/terminal.toml & sleep 3; }
        fetch() { nsenter -t \$host -n $DOWNLOAD --role client --transport tcp --address 10.61.3.2:25301 \"\$@\"; }"
}

# prepare TOOL DOWN UP BYTES
prepare() {
    begin "$1" "$2" "$3"
    client+="
        fetch --bytes $4 --patience $patience; kill -- \$(jobs -p)"
}

# Times of objects, in seconds.
objects() {
    local name down up trip megabytes settings tool seed
    printf '\nSeconds to the first byte, for 100 KB, and for 100 KB beside eight downloads\n\n'
    printf '| link | tool | first byte | 100 KB | 100 KB beside eight |\n|---|---|---:|---:|---:|\n'
    for link in "${links[@]}"; do
        IFS='|' read -r name down up trip megabytes settings <<<"$link"
        [[ $name =~ $rows && $name =~ ^GEO\ 10,\ (clean|1) ]] || continue
        for tool in "${tools[@]}"; do
            rm -f "$work"/times
            for ((seed = 1; seed <= seeds; seed++)); do
                begin "$tool" "$down" "$up"
                client+="
                    fetch --bytes 1 --patience 20
                    fetch --bytes 100000 --patience 20
                    fetch --bytes 50000000 --flows 8 --patience 20 >/dev/null &
                    sleep 10
                    fetch --bytes 100000 --patience 60; kill -- \$(jobs -p)"
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
objects
