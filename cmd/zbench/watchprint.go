package main

import (
	"fmt"

	"zbench/bench/base/spell"
)

// watchFiles are the files that --print shows. %s is the program.
var watchFiles = map[string]string{
	"slurm": `#!/bin/sh
# /etc/slurm/zbench-watch, mode 0755. In slurm.conf:
#
#   Prolog=/etc/slurm/zbench-watch
#   PrologFlags=Alloc
#   Epilog=/etc/slurm/zbench-watch
#   HealthCheckProgram=/etc/slurm/zbench-watch
#   HealthCheckInterval=300
#
# Slurm drains a node whose Prolog or Epilog ends with another code than 0, so
# only a reason that zbench printed, together with its code 3, ends with 1.
case "${SLURM_SCRIPT_CONTEXT:-}" in
prolog_slurmd) as=prolog ;;
epilog_slurmd) as=epilog ;;
*) as=healthcheck ;;
esac
reason=$(timeout -k 2 45 %s watch --as "$as" 2>/dev/null)
if [ $? -ne 3 ] || [ -z "$reason" ]; then
	exit 0
fi
scontrol update NodeName="${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN Reason="$reason"
[ "$as" = prolog ] && exit 1
exit 0
`,
	"systemd": `# /etc/systemd/system/zbench-watch.service
[Unit]
Description=Check of this node by zbench

[Service]
Type=oneshot
StateDirectory=zbench
ExecStart=%s watch --metrics /var/lib/prometheus/node-exporter/zbench.prom
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

// printWatch prints the files for a caller of watch.
func printWatch(s State, which string) error {
	text, known := watchFiles[which]
	if !known {
		return usage(&spell.Unknown{Kind: "caller", Given: which, Valid: []string{"slurm", "systemd"}}, listedBy("watch"))
	}
	_, err := fmt.Fprintf(s.Stdout, text, s.Executable)
	return err
}
