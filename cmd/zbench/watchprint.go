package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"zbench/bench/base/spell"
)

// watchFiles are the files that --print shows. %[1]s is the path of the program. %[2]s is the
// folder of scontrol, followed by a colon; it is empty if scontrol is not in PATH.
var watchFiles = map[string]string{
	"slurm": `#!/bin/sh
# /etc/slurm/zbench-watch, mode 0755. In slurm.conf:
#
#   Prolog=/etc/slurm/zbench-watch
#   PrologFlags=Alloc
#   Epilog=/etc/slurm/zbench-watch
#   HealthCheckProgram=/etc/slurm/zbench-watch
#   HealthCheckInterval=300
#   SchedulerParameters=nohold_on_prolog_fail    # add it to those that you have
#
# Slurm drains a node whose Prolog or Epilog ends with another code than 0, so
# only a reason that zbench printed, together with its code 3, ends with 1.
# Without nohold_on_prolog_fail the job of a drained node is requeued held. Slurm
# sets no PATH here.
PATH=%[2]s/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
case "${SLURM_SCRIPT_CONTEXT:-}" in
prolog_slurmd) as=prolog ;;
epilog_slurmd) as=epilog ;;
*) as=healthcheck ;;
esac
reason=$(timeout -k 2 45 %[1]s watch --as "$as" 2>/dev/null)
if [ $? -ne 3 ] || [ -z "$reason" ]; then
	exit 0
fi
node=${SLURMD_NODENAME:-$(hostname -s)}
# Without --claims zbench has drained it.
sinfo --noheader --Node --nodes="$node" --format=%%T | grep -q drain ||
	scontrol update NodeName="$node" State=DRAIN Reason="$reason"
[ "$as" = prolog ] && exit 1
exit 0
`,
	"systemd": `# /etc/systemd/system/zbench-watch.service
[Unit]
Description=Check of this node by zbench

[Service]
Type=oneshot
StateDirectory=zbench
ExecStart=%[1]s watch --metrics /var/lib/prometheus/node-exporter/zbench.prom
SuccessExitStatus=3
TimeoutStartSec=60

# /etc/systemd/system/zbench-watch.timer
[Unit]
Description=Hourly check of this node by zbench

[Timer]
OnBootSec=10min
OnUnitActiveSec=1h
RandomizedDelaySec=10min

[Install]
WantedBy=timers.target
`,
}

// printWatch prints the files for one caller of watch.
func printWatch(s State, which string) error {
	text, known := watchFiles[which]
	if !known {
		return usage(&spell.Unknown{Kind: "caller", Given: which, Valid: []string{"slurm", "systemd"}}, listedBy("watch"))
	}
	slurm := ""
	if file, err := lookPath(s, "scontrol"); err == nil {
		slurm = filepath.Dir(file) + ":"
	}
	_, err := fmt.Fprintf(s.Stdout, text, strings.Join(s.Program, " "), slurm)
	return err
}
