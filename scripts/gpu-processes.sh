# shellcheck shell=bash disable=SC2154
# Rows of gpu-check.sh, which sources this file, with two processes of one rank each on one GPU.
# The library refuses two ranks on one GPU of a host. So each process gets a host name of its own
# (NCCL_HOSTID), and the two communicate over sockets (NCCL_NET, lo). They take turns of milliseconds
# on the GPU, so these rows check results and failures, not times.
#
# LONG has the flags for sizes and launches of the sweeps that are disturbed. SLACK is how many
# seconds after its deadlines such a sweep may end (20).

slack=${SLACK:-20}
read -ra long <<<"${LONG:--b 1K -e 64K -f 2 -n 2 -w 1 --max-time 0.02}"
pids=(0 0) token='' code='' took=''

# tenths prints the time in tenths of a second.
tenths() {
	local now=${EPOCHREALTIME:-$SECONDS.000000}
	echo $((${now/[.,]/} / 100000))
}

# finish RANK kills a process. It gives up after $slack seconds, because a process may hang in the
# driver.
finish() {
	local last=$((SECONDS + slack))
	if ! kill -KILL "${pids[$1]}" 2>/dev/null; then
		problem="process $1 had ended before it was killed"
		return 1
	fi
	{ # without bash's message about the killed process
		while kill -0 "${pids[$1]}" && [ $SECONDS -lt $last ]; do sleep 0.05; done
		if ! kill -0 "${pids[$1]}"; then
			wait "${pids[$1]}"
			return 0
		fi
	} 2>/dev/null
	problem="process $1 did not end within $slack s of SIGKILL"
	return 1
}

# begin DIR ARGUMENT… starts the two processes of a world.
begin() {
	local log=$1 rank port=$((20000 + RANDOM % 10000))
	shift
	if [ $((limit - SECONDS)) -le 0 ]; then
		problem="not run: the $limit s are over (LIMIT)"
		return 1
	fi
	if ! token=$("$bin" token) || [ -z "$token" ]; then
		problem="zbench token failed"
		return 1
	fi
	for rank in 1 0; do
		ZBENCH_TOKEN=$token ZBENCH_RANK=$rank ZBENCH_WORLD_SIZE=2 ZBENCH_LOCAL_RANK=0 ZBENCH_LOCAL_SIZE=1 \
			ZBENCH_NODE=$rank ZBENCH_NODES=2 ZBENCH_LEADER=127.0.0.1:$port NCCL_HOSTID=zbench-$rank \
			NCCL_SOCKET_IFNAME=${NCCL_SOCKET_IFNAME:-lo} NCCL_NET=${NCCL_NET:-Socket} NCCL_DEBUG=${NCCL_DEBUG:-WARN} \
			"$bin" collectives "$@" "${flags[@]}" -q >"$log.$rank.txt" 2>"$log.$rank.log" &
		pids[rank]=$!
	done
}

# await RANK SECONDS waits for the end of a process, at most until the end of the call. It sets code
# to the exit code and took to the seconds waited.
await() {
	local begun left=$((limit - SECONDS))
	begun=$(tenths)
	[ "$2" -ge "$left" ] || left=$2
	while kill -0 "${pids[$1]}" 2>/dev/null; do
		if [ $(($(tenths) - begun)) -ge $((10 * left)) ]; then
			problem="process $1 did not end within $2 s"
			[ "$left" -ge "$2" ] || problem="process $1 had not ended when the $limit s were over (LIMIT)"
			return 1
		fi
		sleep 0.05
	done
	{ wait "${pids[$1]}"; } 2>/dev/null
	code=$?
	took=$(($(tenths) - begun))
	took=$((took / 10)).$((took % 10))
}

# said DIR prints the error of a run, and the library's first warning.
said() {
	{
		grep -h '^zbench: ' "$1.0.log" || grep -h '^zbench: ' "$1.1.log"
	} | tail -1 | cut -c9-300
	grep -hom 1 'NCCL WARN .*' "$1.1.log" "$1.0.log" | head -1 | cut -c1-200
}

# coded DIR CODE checks that process 0 ended with that code.
coded() {
	[ "$code" -eq "$2" ] && return
	case "$2 $code" in "0 3" | "0 6") return 0 ;; esac # two processes on one GPU may be slow: their results are still right
	problem="exit code $code, expected $2: $(said "$1" | paste -sd' ' | tr '|' '/')"
	return 1
}

# ends DIR SECONDS CODE checks that both processes end within that time and that process 0 has that
# exit code. If the code is 0, process 1 must succeed too.
ends() {
	local seconds
	await 0 "$2" && coded "$1" "$3" || return 1
	seconds=$took
	await 1 "$slack" || return 1
	took=$seconds
	case "$3 $code" in 0\ [036] | [!0]*) return ;; esac
	problem="exit code $code of process 1: $(said "$1" | paste -sd' ' | tr '|' '/')"
	return 1
}

# left prints the processes that have this world's secret in their environment.
left() {
	grep -lsF -f <(printf '%s' "$token") /proc/[0-9]*/environ | tr -dc '0-9\n'
	return 0 # grep also fails because another user's processes cannot be read
}

# abandon ends all processes of a world when this script ends.
abandon() {
	# shellcheck disable=SC2046 # a list of numbers
	[ -z "$token" ] || kill -KILL $(left) 2>/dev/null
	rm -rf "$out"
}
trap abandon EXIT

# cleared ends the remaining processes of a world. It fails if there were any.
cleared() {
	local last=$((SECONDS + 5)) list
	while list=$(left); [ -n "$list" ] && [ $SECONDS -lt $last ]; do sleep 0.1; done
	[ -n "$list" ] || return 0
	# shellcheck disable=SC2086 # a list of numbers
	kill -KILL $list 2>/dev/null
	problem="${problem:+$problem; }processes of zbench were left, and are killed"
	return 1
}

# after DIR N waits until N parts of a sweep are on disk.
after() {
	local last=$((limit - 2)) lines
	while lines=$(grep -cs . "$1/journal.jsonl"); [ "${lines:-0}" -le "$2" ]; do
		if ! kill -0 "${pids[0]}" 2>/dev/null; then
			ends "$1" 1 0 && problem="the sweep ended before it was disturbed"
			return 1
		elif [ $SECONDS -ge $last ]; then
			problem="the sweep had $((lines > 0 ? lines - 1 : 0)) parts when the $limit s were over (LIMIT)"
			return 1
		fi
		sleep 0.02
	done
}

# blamed DIR checks that the error and the record name process 1 and rank 1 as the cause.
blamed() {
	local file=$1/results.json
	if ! grep -q 'process 1 on ' "$1.0.log" || ! grep -qE 'culprit: rank 1( |;|$)' "$1.0.log"; then
		problem="the error does not name process 1 and rank 1: $(said "$1" | paste -sd' ' | tr '|' '/')"
	elif ! grep -q '"reason": "a process was lost: ' "$file" || [ "$(json suspects "$file")" != 1 ]; then
		problem="results.json: no case that a lost process interrupted, with suspects 1 ($(json suspects "$file"))"
	fi
	[ -z "$problem" ]
}

# resumed DIR checks that --resume measures the remaining cases, including the case that a lost
# process interrupted.
resumed() {
	local ok file=$1/results.json
	cleared || return 1
	begin "$1-resumed" --resume "$1" && ends "$1-resumed" "$limit" 0 || return 1
	problem=$(judge "$1")
	ok=$(grep -c '"status": "ok"' "$file")
	if [ -z "$problem" ] && grep -qE '"status": "(failed|skipped|interrupted)"' "$file"; then
		problem="resumed: $ok cases ok, and some failed or were not run"
	fi
	what="$what; resumed: $ok cases, each verified"
	[ -z "$problem" ]
}

# witness FILE prints the answer of RAS, NCCL's service that reports the state of other ranks.
witness() {
	local block state library
	block=$(sed -n '/"witness": {/,/"communicators"/p' "$1")
	state=$(json state <(echo "$block"))
	case $state in
	'') echo "RAS was not asked" ;;
	absent) echo "RAS gave no answer: $(sed -n 's/^ *"reason": "\(.*\)",\{0,1\}$/\1/p' <<<"$block" | tr '|' '/')" ;;
	*)
		library=$(json library <(echo "$block"))
		echo "RAS of ${library:-an unknown version} answered: $state"
		;;
	esac
}

# together checks that every collective runs and that every case is verified.
together() {
	local dir=$out/two-processes
	# shellcheck disable=SC2086 # lists of words
	begin "$dir" $all -b 1K -e 16K -f 16 -n 2 -w 1 --max-time 0.02 --out "$dir" && ends "$dir" "$limit" 0 || return
	problem=$(judge "$dir")
	what="$(grep -c '"status": "ok"' "$dir/results.json") cases, each verified; on $(sed -n 's/^ *"pci": "\(.*\)",\{0,1\}$/\1/p' "$dir/results.json" | sort -u | paste -sd' ')"
}

# killed checks that the run ends at once after one process is killed.
killed() {
	local dir=$out/killed-process
	begin "$dir" all_reduce all_gather reduce_scatter "${long[@]}" --out "$dir" && after "$dir" 3 || return
	finish 1 || return
	ends "$dir" $((5 + slack)) 1 && blamed "$dir" || return
	what="SIGKILL: ended after $took s, culprit rank 1"
	resumed "$dir"
}

# frozen stops one process and checks that the heartbeat or the batch's deadline ends the run. It also
# reports what RAS answered.
frozen() {
	local dir=$out/frozen-process seconds
	begin "$dir" all_reduce "${long[@]}" --heartbeat 12s --batch-timeout 4s --out "$dir" && after "$dir" 3 || return
	if ! kill -STOP "${pids[1]}" 2>/dev/null; then
		problem="process 1 had ended before it was frozen"
		return
	fi
	await 0 $((12 + slack)) && seconds=$took
	if [ -n "$problem" ]; then
		kill -KILL "${pids[1]}"
		return
	fi
	finish 1 && coded "$dir" 1 && blamed "$dir" || return
	what="SIGSTOP: ended after $seconds s, culprit rank 1; $(witness "$dir/results.json")"
}

# interrupted checks that Ctrl-C saves the finished cases.
interrupted() {
	local dir=$out/interrupted-run
	begin "$dir" all_reduce all_gather reduce_scatter "${long[@]}" --out "$dir" && after "$dir" 3 || return
	if ! kill -INT "${pids[0]}" 2>/dev/null; then
		problem="process 0 had ended before it was interrupted"
		return
	fi
	ends "$dir" $((5 + slack)) 130 || return
	if ! grep -qE '^zbench: interrupted(: | before any case)' "$dir.0.log"; then
		problem="no word of the interruption"
		return
	fi
	what="SIGINT: ended after $took s"
	resumed "$dir"
}

# pair NAME FUNCTION runs a function and writes a row of the table about it.
pair() {
	local start=$SECONDS
	problem='' what='' token=''
	"$2"
	[ -z "$token" ] || cleared
	[ -n "$problem" ] || ran=1
	if [ -z "$problem" ]; then
		row "$1" ok $((SECONDS - start)) "$what"
	else
		row "$1" failed $((SECONDS - start)) "$problem"
		return 1
	fi
}

processes() {
	local name
	pair "2 processes" together
	[[ $problem == "exit code 5"* ]] && nothing=5
	if ! { grep -qs '"status": "ok"' "$out/two-processes/results.json" && measured "$out/two-processes"; }; then
		for name in "a killed process" "a frozen process" "an interrupted run"; do
			row "$name" skipped 0 "no case of 2 processes is ok"
		done
		return
	fi
	pair "a killed process" killed
	pair "a frozen process" frozen
	pair "an interrupted run" interrupted
}
