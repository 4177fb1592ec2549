#!/bin/sh
# Uses one program against the servers of bench/programs/serve.sh and compares what it got, byte for byte, with what the
# servers have. Says nothing if all is well.
#
#   use.sh DIRECTORY ADDRESS PROGRAM
#
# PROGRAM is one of: http1 http2 http2-many git ssh scp-down scp-up rsync rsync-ssh
set -eu
dir=$1
address=$2
program=$3
export HOME="$dir/home" GIT_CONFIG_NOSYSTEM=1
got=$(mktemp -d "$dir/got.XXXXXX")
trap 'rm -rf "$got"' EXIT
options="-F none -i $dir/ssh -o UserKnownHostsFile=$dir/known_hosts -o IdentitiesOnly=yes -o BatchMode=yes"

fail() {
    echo "$program: $*" >&2
    exit 1
}
same() {
    cmp "$1" "$2" || fail "$1 differs from $2"
}
# Fetches these addresses over HTTP and fails unless the version is the one named first: fetch VERSION URL...
fetch() {
    version=$1
    shift
    curl --no-progress-meter --fail --parallel --cacert "$dir/cert.pem" --output-dir "$got" --remote-name-all \
        --write-out '%{http_version}\n' "--http$version" "$@" >"$got.versions"
    [ "$(sort -u "$got.versions")" = "$version" ] || fail "not HTTP/$version: $(cat "$got.versions")"
    rm "$got.versions"
}

case $program in
http1)
    fetch 1.1 "http://$address:8080/large"
    same "$got/large" "$dir/files/large"
    ;;
http2)
    fetch 2 "https://$address:8443/large"
    same "$got/large" "$dir/files/large"
    ;;
http2-many)
    fetch 2 "https://$address:8443/[0-19].js"
    for number in $(seq 0 19); do same "$got/$number.js" "$dir/files/$number.js"; done
    ;;
git)
    git clone --quiet "git://$address/repo.git" "$got/repo"
    git -C "$got/repo" fsck --strict >"$got/said" 2>&1 || fail "$(cat "$got/said")"
    [ "$(git -C "$got/repo" rev-parse HEAD)" = "$(git -C "$dir/repo" rev-parse HEAD)" ] || fail "another commit"
    for number in 1 2 3 4 5; do same "$got/repo/$number" "$dir/repo/$number"; done
    ;;
ssh)
    # shellcheck disable=SC2086 # the options are several words
    ssh $options -p 2222 "root@$address" cat "$dir/files/large" >"$got/large"
    same "$got/large" "$dir/files/large"
    ;;
scp-down)
    # shellcheck disable=SC2086
    scp -q $options -P 2222 "root@[$address]:$dir/files/large" "$got/large"
    same "$got/large" "$dir/files/large"
    ;;
scp-up)
    # shellcheck disable=SC2086
    scp -q $options -P 2222 "$dir/files/large" "root@[$address]:$got/large"
    same "$got/large" "$dir/files/large"
    ;;
rsync)
    rsync --archive "rsync://$address:8730/files/" "$got/"
    diff -r "$got" "$dir/files" || fail "the directories differ"
    ;;
rsync-ssh)
    rsync --archive --rsh "ssh $options -p 2222" "root@$address:$dir/files/" "$got/"
    diff -r "$got" "$dir/files" || fail "the directories differ"
    ;;
*)
    fail "there is no such program"
    ;;
esac
