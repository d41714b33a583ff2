#!/usr/bin/env bash
# Run a command in a Slurm cluster on this machine:
#
#   scripts/slurm.sh NODES COMMAND [ARGUMENT…]      as root, on Debian 12
#   scripts/slurm.sh install                        installs Slurm and Open MPI only; prints "ready"
#
# The cluster has NODES nodes, node1 to nodeN. Each is a slurmd that pretends to have
# 64 CPUs and 8 GPUs. The nodes' names resolve to addresses of the loopback interface.
# COMMAND finds the cluster by SLURM_CONF; sbatch, salloc and srun work as on a login node.
#
# The cluster runs in namespaces of its own (processes, mounts, a network without a way
# out), with a temporary folder for keys, spools and logs. It always ends when this
# script ends. Several clusters can run at the same time. The exit code is COMMAND's.
# If COMMAND leaves a process behind, the script names the process and exits with 1.
# If ZBENCH_SLURM_LOGS names a folder, the daemons' logs are there afterwards.
set -euo pipefail

case ${1:-} in
install) ;;
'' | *[!0-9]*)
	echo "usage: $0 NODES COMMAND [ARGUMENT…] | install" >&2
	exit 2
	;;
esac
if [ "$(id -u)" != 0 ]; then
	echo "$0: the cluster's daemons take root" >&2
	exit 1
fi

has() { for program in "$@"; do command -v "$program" >/dev/null || return 1; done; }
if ! has munged slurmctld slurmd srun sbatch ip ps || { [ "$1" = install ] && ! has mpirun; }; then
	"$(dirname "$0")/install.sh" slurm-wlm munge openmpi-bin iproute2 procps
fi

private=(unshare --net --mount --propagation private --pid --fork --kill-child --mount-proc)
if [ "$1" = install ]; then
	"${private[@]}" true
	echo ready
	exit
fi
if [ -z "${ZBENCH_UNSHARED:-}" ]; then
	ZBENCH_UNSHARED=1 exec "${private[@]}" "$0" "$@"
fi
unset ZBENCH_UNSHARED

nodes=$1
shift
dir=$(mktemp -d /tmp/zbench-slurm.XXXXXX)
chmod 755 "$dir"
daemons=()

# stop gives the daemons ten seconds to end. The end of the namespace kills those that remain.
stop() {
	trap - EXIT
	if [ ${#daemons[@]} != 0 ]; then
		kill "${daemons[@]}" 2>/dev/null || true
		sleep 10 && kill -9 "${daemons[@]}" 2>/dev/null &
		wait "${daemons[@]}" 2>/dev/null || true
	fi
	if [ -n "${ZBENCH_SLURM_LOGS:-}" ]; then
		mkdir -p "$ZBENCH_SLURM_LOGS"
		cp "$dir"/log/* "$ZBENCH_SLURM_LOGS"
	fi
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

mkdir "$dir/spool" "$dir/state" "$dir/log" "$dir/munge"
host=$(hostname -s)

# Each node has a name and an address. An interface other than lo must have an address too: without one,
# glibc resolves no names, and Open MPI finds no interface, because it ignores lo.
{
	echo "127.0.0.1 localhost"
	echo "10.77.255.1 $host"
	for i in $(seq "$nodes"); do echo "10.77.$((i / 250)).$((i % 250)) node$i"; done
} >"$dir/hosts"
: >>/etc/hosts # debootstrap does not make this file
mount --bind "$dir/hosts" /etc/hosts
mount -t tmpfs tmpfs /run # for sockets and names of network namespaces
ip link set lo up
ip link add zbench0 type veth peer name zbench1
ip address add 10.77.255.1/16 dev zbench0
ip link set zbench0 up
ip link set zbench1 up
ip route add local 10.77.0.0/16 dev lo

chmod 700 "$dir/munge"
head -c 1024 /dev/urandom >"$dir/munge/key"
chmod 600 "$dir/munge/key"
munged --foreground --force --key-file="$dir/munge/key" --socket="$dir/socket" --pid-file="$dir/munge/pid" \
	--seed-file="$dir/munge/seed" --log-file="$dir/log/munged" --num-threads=8 &>"$dir/log/munged.out" &
daemons+=($!)

cat >"$dir/slurm.conf" <<END
ClusterName=zbench
SlurmctldHost=$host(10.77.255.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmdPidFile=$dir/spool/%n.pid
SlurmdLogFile=$dir/log/%n
SlurmctldPidFile=$dir/spool/slurmctld.pid
SlurmctldLogFile=$dir/log/slurmctld
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
LaunchParameters=use_interactive_step
ReturnToService=2
SlurmdTimeout=300
TreeWidth=16
MessageTimeout=60
KillWait=5
GresTypes=gpu
NodeName=node[1-$nodes] NodeHostname=$host NodeAddr=node[1-$nodes] Port=[17001-$((17000 + nodes))] CPUs=64 RealMemory=4000 Gres=gpu:8 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
touch "$dir"/gpu{0..7}
echo "NodeName=node[1-$nodes] Name=gpu File=$dir/gpu[0-7]" >"$dir/gres.conf"
# None of the plugins above uses control groups, so they need not be mounted. The plugin cgroup/v1 looks
# for them only when it is used.
echo CgroupPlugin=cgroup/v1 >"$dir/cgroup.conf"
export SLURM_CONF=$dir/slurm.conf

for _ in $(seq 100); do
	munge --socket="$dir/socket" --no-input >/dev/null 2>&1 && break
	sleep 0.1
done
slurmctld -D &>"$dir/log/slurmctld.out" &
daemons+=($!)
for i in $(seq "$nodes"); do
	mkdir "$dir/spool/node$i"
	slurmd -D -N "node$i" &>"$dir/log/node$i.out" &
	daemons+=($!)
done
# alive succeeds while every daemon runs. A daemon that ends at once has logged the reason, and sinfo
# would wait for it without end.
alive() { [ "$(jobs -r | wc -l)" = "${#daemons[@]}" ]; }
ready() { sinfo --noheader --format=%D --states=idle 2>/dev/null | grep -qx "$nodes"; }
for _ in $(seq 300); do
	{ ! alive || ready; } && break
	sleep 0.2
done
if ! ready; then
	echo "$0: the nodes of the cluster did not come up:" >&2
	grep -h error "$dir"/log/* | sort | uniq -c | sort -rn | head -20 >&2
	exit 1
fi
echo "$0: $nodes nodes after $SECONDS s" >&2

code=0
"$@" || code=$?

# left prints the processes that COMMAND left behind. A job's steps end shortly after srun ends.
left() {
	local self=$BASHPID
	ps -eo pid=,ppid=,comm=,args= |
		awk -v self="$self" '$1 != 1 && $1 != self && !($2 == self && $3 ~ /^(bash|ps|awk)$/) && $3 !~ /^(munged|slurmctld|slurmscriptd|slurmd)$/'
}
for _ in $(seq 50); do
	[ -n "$(left)" ] || break
	sleep 0.1
done
if [ -n "$(left)" ]; then
	echo "$0: processes left behind:" >&2
	left >&2
	[ $code != 0 ] || code=1
fi
exit $code
