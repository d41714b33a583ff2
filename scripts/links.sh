#!/usr/bin/env bash
# Hosts on this machine whose links have a known rate: network namespaces, joined by a bridge.
#
#   scripts/links.sh up N MBIT     N hosts, each with a link of MBIT million bits a second both ways
#   scripts/links.sh on I COMMAND… runs COMMAND on host I, from 0; its address is 10.77.0.(I+1) on eth0
#   scripts/links.sh down          takes them away
#
# It needs root, ip and tc (Debian: iproute2). Where namespaces are not allowed, `up` says so and
# exits with 3. LINKS (zbl) begins the names: hosts of two names are two worlds.
set -euo pipefail

name=${LINKS:-zbl}

# refuse takes away what was made.
refuse() {
	down || true
	echo "links.sh: no links of a known rate here: $*" >&2
	exit 3
}

down() {
	for at in /run/netns/"$name"[0-9]*; do
		[ -e "$at" ] || continue
		ip link del "${at##*/}" 2> /dev/null || true # a namespace takes its devices away some time after it is deleted
		ip netns del "${at##*/}"
	done
	ip link del "$name" 2> /dev/null || true
}

# limit COMMAND… limits what a device sends. Frames are as large as eth0 takes: the fewer
# there are, the less of the processor they need. A burst hides no message behind it.
limit() {
	"$@" root tbf rate "$rate" burst 20kb latency 200ms
}

up() {
	local hosts=$1 rate=$2mbit said
	[ "$(id -u)" = 0 ] || refuse "run as root"
	for tool in ip tc; do
		command -v $tool > /dev/null || refuse "$tool is missing (Debian: iproute2)"
	done
	down
	said=$(ip link add "$name" type bridge 2>&1) || refuse "a bridge cannot be made: $said"
	ip link set "$name" mtu 9000 up
	for ((i = 0; i < hosts; i++)); do
		host=$name$i
		said=$(ip netns add "$host" 2>&1) || refuse "a network namespace cannot be made: $said"
		ip link add "$host" mtu 9000 type veth peer name eth0 mtu 9000 netns "$host"
		ip link set "$host" master "$name" up
		ip -n "$host" link set lo up
		ip -n "$host" addr add 10.77.0.$((i + 1))/24 dev eth0
		ip -n "$host" link set eth0 up
		said=$(limit tc qdisc add dev "$host" 2>&1) || refuse "tc cannot limit a rate: $said"
		limit ip netns exec "$host" tc qdisc add dev eth0
	done
}

case ${1:-} in
up) [ $# = 3 ] && up "$2" "$3" ;;
on) ip netns exec "$name$2" "${@:3}" ;;
down) down ;;
*) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
