#!/usr/bin/env bash
# Hosts on this machine whose links have a known rate: network namespaces, joined by a bridge.
#
#   scripts/links.sh up N MBIT [MS] makes N hosts, each with a link of MBIT million bits per second in each
#                                  direction; data arrive MS milliseconds after they are sent
#   scripts/links.sh on I COMMAND… runs COMMAND on host I, counted from 0; the host's address is
#                                  10.77.0.(I+1) on eth0
#   scripts/links.sh down          removes the hosts
#
# The script needs root, ip and tc (Debian: iproute2). A delay also needs a C compiler, because the script
# then builds its own switch: many kernels have no netem. Where namespaces are not allowed, `up` says so
# and exits with 3. LINKS (zbl) is the first part of every name. Two values of LINKS give two separate
# sets of hosts.
set -euo pipefail

name=${LINKS:-zbl}
wire=/run/$name-wire

# refuse REASON removes everything that was made and exits with 3.
refuse() {
	down || true
	echo "links.sh: no links of a known rate here: $*" >&2
	exit 3
}

down() {
	for at in /run/netns/"$name"[0-9]*; do
		[ -e "$at" ] || continue
		ip link del "${at##*/}" 2> /dev/null || true # a namespace releases its devices some time after it is deleted
		ip netns del "${at##*/}"
	done
	ip link del "$name" 2> /dev/null || true
	[ ! -e "$wire.pid" ] || kill "$(< "$wire.pid")" 2> /dev/null || true
	rm -f "$wire" "$wire.pid"
}

# limit COMMAND… limits a device's rate. Frames are as large as eth0 allows, because fewer frames
# need less CPU time. The burst is so small that no message escapes the limit.
limit() {
	"$@" root tbf rate "$rate" burst 20kb latency 200ms
}

# delayed HOSTS MBIT MS starts a switch that delays every frame. Its ports are the hosts' links.
delayed() {
	local said rate=$2mbit
	said=$(cc -O2 -o "$wire" "$(dirname "$0")/links/wire.c" 2>&1) || refuse "the switch does not compile: $said"
	"$wire" "$name" "$@" > "$wire.pid" 2>&1 &
	local pid=$!
	until grep -q ready "$wire.pid"; do
		kill -0 $pid 2> /dev/null || refuse "the switch does not start: $(< "$wire.pid")"
		sleep 0.05
	done
	echo $pid > "$wire.pid"
	for ((i = 0; i < $1; i++)); do
		ip netns add "$name$i"
		ip link set "$name$i" netns "$name$i" name eth0 mtu 9000
		address $i
		limit ip netns exec "$name$i" tc qdisc add dev eth0
	done
}

# address I gives host I its address and brings its link up.
address() {
	ip -n "$name$1" link set lo up
	ip -n "$name$1" addr add 10.77.0.$(($1 + 1))/24 dev eth0
	ip -n "$name$1" link set eth0 up
}

up() {
	local hosts=$1 rate=$2mbit said
	[ "$(id -u)" = 0 ] || refuse "run as root"
	for tool in ip tc; do
		command -v $tool > /dev/null || refuse "$tool is missing (Debian: iproute2)"
	done
	down
	if [ "${3:-0}" != 0 ]; then
		delayed "$@"
		return
	fi
	said=$(ip link add "$name" type bridge 2>&1) || refuse "a bridge cannot be made: $said"
	ip link set "$name" mtu 9000 up
	for ((i = 0; i < hosts; i++)); do
		host=$name$i
		said=$(ip netns add "$host" 2>&1) || refuse "a network namespace cannot be made: $said"
		ip link add "$host" mtu 9000 type veth peer name eth0 mtu 9000 netns "$host"
		ip link set "$host" master "$name" up
		address $i
		said=$(limit tc qdisc add dev "$host" 2>&1) || refuse "tc cannot limit a rate: $said"
		limit ip netns exec "$host" tc qdisc add dev eth0
	done
}

case ${1:-} in
up) [ $# = 3 ] || [ $# = 4 ] && up "${@:2}" ;;
on) ip netns exec "$name$2" "${@:3}" ;;
down) down ;;
*) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
