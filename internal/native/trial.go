package native

/*
#include <stdlib.h>
#include "c/trial.h"
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unsafe"
)

// OpenWithin is the default time limit for opening one library. The first time, a library
// of gigabytes on a network file system takes tens of seconds.
const OpenWithin = 60 * time.Second

// trialSlice is how often a wait checks for cancellation.
const trialSlice = 50 * time.Millisecond

// trial is the child process that opens each library first. If it cannot be made,
// because of a process limit, libraries are opened without it.
type trial struct {
	c *C.zb_trial
	// If `none` is true, no child process can be made.
	none bool
	// The map `fatal` has the earlier results by real path, because a file can be tried for several
	// roles.
	fatal map[string]string
}

// fatal() returns the reason why this process must not open a file. It returns "" if the child has
// opened the file, or has found that it is not a library.
func (f *finder) fatal(path string) string {
	file := path
	if whole, err := filepath.EvalSymlinks(path); err == nil && strings.Contains(path, "/") {
		file = whole
	}
	why, known := f.trial.fatal[file]
	if !known {
		if why = f.attempt(path); f.trial.fatal == nil {
			f.trial.fatal = map[string]string{}
		}
		f.trial.fatal[file] = why
	}
	return why
}

// attempt lets the child open a file.
func (f *finder) attempt(path string) string {
	if f.trial.none || !f.trial.start() {
		return ""
	}
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	outcome, within := C.int(C.ZB_TRIAL_ENDED), f.o.within()
	if C.zb_trial_ask(f.trial.c, text) != 0 {
		outcome = C.ZB_TRIAL_NOTHING
	}
	for left := within; outcome == C.ZB_TRIAL_NOTHING && left > 0 && f.o.given() == nil; left -= trialSlice {
		f.wait(path, within-left)
		outcome = C.zb_trial_wait(f.trial.c, C.int(min(left, trialSlice).Milliseconds()))
	}
	switch outcome {
	case C.ZB_TRIAL_OPENED:
		return ""
	case C.ZB_TRIAL_ENDED:
		// The child is about to end: its pipe closes before the process ends.
		status, words := f.trial.end(2 * time.Second)
		return "opening it ends the process: " + ending(status) + words
	case C.ZB_TRIAL_FLOODED:
		_, words := f.trial.end(0)
		return fmt.Sprintf("opening it prints without end (more than %d bytes)", int(C.ZB_TRIAL_PRINTED)) + words
	}
	_, words := f.trial.end(0)
	return fmt.Sprintf("opening it did not end within %g s (--%s)", within.Seconds(), SettingWithin) + words
}

// start makes the child if there is none. The child ends with the thread that made it, so
// the thread is kept until end.
func (t *trial) start() bool {
	if t.c != nil {
		return true
	}
	runtime.LockOSThread()
	if t.c = C.zb_trial_start(); t.c == nil {
		runtime.UnlockOSThread()
		t.none = true
	}
	return t.c != nil
}

// end() ends the child and returns its status and the last line that it printed. The status is −1
// if the child did not end within `patience` and was killed. The method may be called twice.
func (t *trial) end(patience time.Duration) (status int, words string) {
	if t.c == nil {
		return 0, ""
	}
	var text [C.ZB_TRIAL_WORDS]C.char
	status = int(C.zb_trial_end(t.c, C.int(patience.Milliseconds()), &text[0], C.size_t(len(text))))
	t.c = nil
	runtime.UnlockOSThread()
	return status, lastLine(C.GoString(&text[0]))
}

// ending() describes how a process ended.
func ending(status int) string {
	w := syscall.WaitStatus(status)
	switch {
	case status == -1:
		return "it cut itself off"
	case w.Signaled():
		return fmt.Sprintf("signal %d, %s", int(w.Signal()), w.Signal())
	}
	return fmt.Sprintf("exit code %d", w.ExitStatus())
}

// lastLine returns the last line of a text, formatted for a message.
func lastLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, last := range slices.Backward(lines) {
		line := strings.TrimSpace(strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(last, " ")))
		if line != "" {
			return fmt.Sprintf("; it printed %q", line)
		}
	}
	return ""
}
