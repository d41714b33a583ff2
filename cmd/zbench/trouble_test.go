package main

import (
	"cmp"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// plantedTrouble names the environment variable for a trouble of one process: its rank, or
// none; then disk, the number of journal lines that it takes and 0, or clock, the time until it steps
// and how far, in nanoseconds.
const plantedTrouble = "ZBENCH_TEST_TROUBLE"

// trouble is the disturbance as a planted one, empty for a signal.
func (d *disturbance) trouble() string {
	rank := "0"
	switch {
	case d.processes == 1:
		rank = noRank
	case d.whom == toFollower:
		rank = fmt.Sprint(d.rank)
	}
	switch d.what {
	case hadFullDisk:
		return fmt.Sprintf("%s disk %d 0", rank, d.lines)
	case hadClockStep:
		return fmt.Sprintf("%s clock %d %d", rank, d.after, d.step)
	}
	return ""
}

// noRank is the rank of a process that no other has started.
const noRank = "none"

// plantTrouble plants that of the environment if it is this process's.
func plantTrouble(s State) State {
	var rank, what string
	var after, step int64
	_, err := fmt.Sscan(s.Getenv(plantedTrouble), &rank, &what, &after, &step)
	if err != nil || rank != cmp.Or(s.Getenv("ZBENCH_RANK"), noRank) {
		return s
	}
	if what == "disk" {
		left := int(after)
		s.FS = fullDisk{s.FS, &left}
		return s
	}
	start := time.Now()
	s.Now = func() time.Time {
		now := time.Now()
		if now.Sub(start) < time.Duration(after) {
			return now
		}
		return stepsBy(now, time.Duration(step))
	}
	return s
}

// stepsBy is a reading of a clock that was set, to whole seconds: the wall clock differs, the monotonic one does not.
// Go's time has the seconds since 1885 in bits 30 to 62 of its first word beside a monotonic reading.
func stepsBy(t time.Time, d time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(int64(d/time.Second)) << 30 //nolint:gosec // no function of Go's makes such a time
	return t
}

// A clock that was set tells another time of day; what has passed is as before.
func TestStepsBy(t *testing.T) {
	for _, d := range []time.Duration{-30 * 365 * 24 * time.Hour, -time.Second, time.Hour, 30 * 365 * 24 * time.Hour} {
		now := time.Now()
		then := stepsBy(now, d)
		require.Equal(t, now.Unix()+int64(d/time.Second), then.Unix())
		require.Zero(t, then.Sub(now))
	}
}
