package nodewatch

import (
	"fmt"
	"io"
	"strings"

	"zbench/bench/answers/fleet/history"
)

// escaped escapes the value of a label (Prometheus' text format 0.0.4).
var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// WriteMetrics writes the check for node_exporter's textfile collector: Prometheus' text format without
// time stamps. figures are in bytes or operations per second.
func (d *Document) WriteMetrics(w io.Writer, figures []history.Figure) error {
	var b strings.Builder
	family := func(name, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
	}
	family("zbench_watch_action", "1 for the action of the last check, 0 for the others.")
	for _, a := range Actions() {
		set := 0
		if a == d.Action {
			set = 1
		}
		fmt.Fprintf(&b, "zbench_watch_action{action=\"%s\"} %d\n", a, set)
	}
	family("zbench_watch_last_check_timestamp_seconds", "Time of the last check.")
	fmt.Fprintf(&b, "zbench_watch_last_check_timestamp_seconds %d\n", d.Time.Unix())
	family("zbench_watch_withheld", "1 if an ISOLATE was not carried out.")
	fmt.Fprintf(&b, "zbench_watch_withheld %d\n", min(len(d.Withheld), 1))
	family("zbench_watch_not_checked", "Number of things that the last check could not judge.")
	fmt.Fprintf(&b, "zbench_watch_not_checked %d\n", len(d.Unchecked))
	if len(d.Findings) > 0 {
		family("zbench_watch_finding", "Number of the last checks with this finding.")
	}
	written := map[string]bool{}
	for _, f := range d.Findings {
		if label := fmt.Sprintf("action=\"%s\",code=\"%s\",subject=\"%s\"", f.Action, escaped.Replace(f.Code), escaped.Replace(f.Subject)); !written[label] {
			written[label] = true
			fmt.Fprintf(&b, "zbench_watch_finding{%s} %d\n", label, f.Checks)
		}
	}
	if len(figures) > 0 {
		family("zbench_watch_rate", "Measured rate, in bytes per second; of products in operations per second.")
	}
	for _, f := range figures {
		if label := fmt.Sprintf("kind=\"%s\",subject=\"%s\"", escaped.Replace(f.Kind), escaped.Replace(f.Subject)); !written[label] {
			written[label] = true
			fmt.Fprintf(&b, "zbench_watch_rate{%s} %g\n", label, f.Rate)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
