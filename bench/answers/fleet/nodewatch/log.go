package nodewatch

import (
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/hardware/signs"
)

// Line is a line of the kernel log with a sign.
type Line struct {
	// At is the line's time in microseconds after boot; 0 if it has none.
	At int64 `json:"at"`
	// Code is the sign's code. Subject is the sign's component; empty if the line names none.
	Code    string `json:"code"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// mostLines is the number of newest lines that are kept.
const mostLines = 256

var (
	// record matches a line of /dev/kmsg: priority, sequence, microseconds, flags, message.
	record = pattern.New(`^\d+,\d+,(\d+),[^;]*;(.*)$`)
	// `printed` matches a line of the kernel's buffer, of dmesg, or of journalctl's output: it has the
	// seconds in brackets.
	printed = pattern.New(`^(?:<\d+>|.* kernel: )?\[ *(\d+)\.(\d{6})\] (.*)$`)
)

// ReadLog finds the signs in the text of a kernel log, as /dev/kmsg or dmesg gives it. newest is the time
// of the newest line, in microseconds after boot. A line without a time gets the time of the line before.
func ReadLog(text string) (found []Line, newest int64) {
	at := int64(0)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		message := line
		if m := record.FindStringSubmatch(line); m != nil {
			at, message = parse(m[1], at), m[2]
		} else if m := printed.FindStringSubmatch(line); m != nil {
			at, message = parse(m[1]+m[2], at), m[3]
		}
		newest = max(newest, at)
		var r signs.Reader
		sign := r.Take(1, message)
		if sign == nil || sign.Where != "kernel" {
			continue
		}
		l := Line{At: at, Code: sign.Code, Text: message[:min(len(message), 300)]}
		if f := r.Found(true); len(f) > 0 && len(f[0].Subjects) > 0 {
			l.Subject = f[0].Subjects[0]
		}
		found = append(found, l)
	}
	return slices.Clip(found[max(len(found)-mostLines, 0):]), newest
}

func parse(microseconds string, before int64) int64 {
	if n, err := strconv.ParseInt(microseconds, 10, 64); err == nil {
		return n
	}
	return before
}
