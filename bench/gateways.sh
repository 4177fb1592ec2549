# What the benchmarks of the gateway share: TCP between a host behind a terminal and one behind a hub, whose kernels
# know nothing of it, over an emulated link; or the same hosts behind plain routers. To be sourced by them with bash.
# shellcheck shell=bash
# shellcheck source=bench/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! command -v nft >/dev/null; then
    echo "$0: needs nft to lead connections into a gateway" >&2
    exit 1
fi

# Where the server is.
# shellcheck disable=SC2034 # those who source this use it
site=10.61.3.2
# Further lines at the top of both configurations, under [link] and under [limits].
everywhere=
link_settings=
limits='buffer = "20 MB"'
# What runs beside each gateway, told its name.
beside=

for name in terminal hub; do
    "$BENTPIPE" keygen --key "$work/$name.key" >"$work/$name.said"
done
public() {
    grep -oE '[A-Za-z0-9+/]{43}=' "$work/$1.said" | head -1
}

# A host behind this end: behind NETWORK OTHER_NETWORK NEXT; its process is $host afterwards.
behind() {
    cat <<END
unshare --net sleep infinity & host=\$!
until [ "\$(readlink /proc/\$host/ns/net)" != "\$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add lan0 type veth peer name eth0 netns \$host
ip address add $1.1/24 dev lan0; ip link set lan0 up
nsenter -t \$host -n sh -c 'ip address add $1.2/24 dev eth0; ip link set lo up; ip link set eth0 up
    ip route add default via $1.1; $tune'
ip route add $2.0/24 via $3
echo 1 >/proc/sys/net/ipv4/ip_forward
END
}

# configure NAME RATE SETTINGS PEER PEER_SETTINGS; the link is a shared one if RATE is empty.
configure() {
    local link='mode = "shared"'
    [ -z "$2" ] || link=$(printf 'mode = "dedicated"\nrate = "%s Mbit/s"' "$2")
    cat >"$work/$1.toml" <<END
role = "$1"
key = "$work/$1.key"
listen = "0.0.0.0:25300"
$everywhere
$3
[link]
$link
$link_settings
[limits]
$limits
[ops]
listen = "127.0.0.1:9100"
[peers.$4]
key = "$(public "$4")"
$5
END
}

# Sets $server, which runs SERVE on the host behind the hub, and $client, to what comes before the programs of the
# host behind the terminal, which `there` runs: begin TOOL DOWN UP SERVE. TOOL is `gateway`, `shared` for gateways that
# are told no rates, or anything else for plain routers. $gateway is the process of the gateway of either end.
begin() {
    local tool=$1 down=$2 up=$3 serve=$4 hub='' terminal='sleep 1' pause=3
    # Without a rate it takes three round trips and more to find out what the link carries.
    [ "$tool" != shared ] || { tool=gateway down='' up='' pause=10; }
    if [ "$tool" = gateway ]; then
        configure hub "$down" 'allow = ["10.61.3.0/24"]' terminal ''
        configure terminal "$up" '' hub 'address = "10.53.0.2:25300"'
        printf '[transparent]\nport = 25310\ninterfaces = ["lan0"]\n' >>"$work/terminal.toml"
        local run="$BENTPIPE gateway --setup-firewall --config $work"
        hub="RUST_LOG=warn $run/hub.toml & gateway=\$!; ${beside:+$beside hub &}"
        terminal="RUST_LOG=warn $run/terminal.toml & gateway=\$!; ${beside:+$beside terminal &} sleep $pause"
    fi
    server="$(behind 10.61.3 10.61.1 10.53.0.1)
        $hub
        nsenter -t \$host -n $serve"
    client="$(behind 10.61.1 10.61.3 10.53.0.2)
        $terminal
        there() { nsenter -t \$host -n \"\$@\"; }"
}
