#!/usr/bin/env bash
# Real programs through the gateway over a geostationary link (10 Mbit/s, 600 ms), beside the same through plain routers:
# curl over HTTP/1.1 and HTTP/2, git, ssh, scp, rsync, and Chromium with a site of a hundred objects (2.2 MB). All that
# arrives is compared with what the server has. Needs root, nft and what `make programs` installs; leaves nothing behind.
#
#   bench/programs.sh [REPEATS [PROGRAMS [TOOLS]]]
#
# Prints the medians of seconds over the repeats (3 if left out). PROGRAMS are some of those below, TOOLS some of
# 'gateway cubic' (cubic being the kernel's TCP without a gateway).
# shellcheck source=bench/gateways.sh
source "$(dirname "$0")/gateways.sh"

repeats=${1:-3}
all="http1 http2 http2-many git ssh scp-down scp-up rsync rsync-ssh browser-http1 browser-http2"
read -ra programs <<<"${2:-$all}"
read -ra tools <<<"${3:-gateway cubic}"
here=$PWD/bench/programs

for needed in nginx git ssh scp sshd rsync curl openssl python3 ss chromium; do
    PATH=$PATH:/usr/sbin command -v "$needed" >/dev/null || {
        echo "$0: $needed is missing; \`make programs\` installs it" >&2
        exit 1
    }
done
dir=$work/servers
python3 "$here/site.py" "$dir/files"

for ((turn = 1; turn <= repeats; turn++)); do
    for tool in "${tools[@]}"; do
        begin "$tool" 10 10 "$here/serve.sh $dir $site"
        rm -f "$dir/ready"
        client+="
            until [ -e $dir/ready ]; do sleep 0.1; done
            for program in ${programs[*]}; do
                start=\$(date +%s%N)
                case \$program in
                browser-*) took=\$(there $here/browse.sh $dir $site \${program#*-}) || exit 1 ;;
                *) there $here/use.sh $dir $site \$program || exit 1
                    took=\$(((\$(date +%s%N) - start) / 1000000)) ;;
                esac
                echo $tool \$program \$took
            done
            kill -- \$(jobs -p)"
        run "$turn" 10 10 600 '' "$server" "$client" >>"$work/results"
    done
done

printf 'Seconds, medians of %s\n\n| program |' "$repeats"
printf ' %s |' "${tools[@]}"
printf '\n|---|'
printf -- '---:|%.0s' "${tools[@]}"
printf '\n'
for program in "${programs[@]}"; do
    printf '| %s |' "$program"
    for tool in "${tools[@]}"; do
        printf ' %.2f |' "$(awk -v row="$tool $program" '$1 " " $2 == row { print $3 / 1000 }' "$work/results" | median)"
    done
    printf '\n'
done
