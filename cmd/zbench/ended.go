package main

import (
	"fmt"
	"strconv"
	"strings"

	"zbench/bench/pattern"
)

// endedTask is the end of one process of the world, as its launcher tells it.
type endedTask struct {
	process int
	how     string
}

// maxEnded is the most ends that wait to be read.
const maxEnded = 16

// endedWord begins a line to the leader on the end of another process.
const endedWord = "ended "

// srunCode is the one that srun tells of.
var srunCode = pattern.New(`Exited with exit code ([0-9]+)$`)

// code is the task's exit code; false if it ended otherwise.
func (e endedTask) code() (int, bool) {
	m := srunCode.FindStringSubmatch(e.how)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// line is the text for the leader's standard input.
func (e endedTask) line() string { return fmt.Sprintf("%s%d %s", endedWord, e.process, e.how) }

func readEnded(line string) (endedTask, bool) {
	rest, ok := strings.CutPrefix(line, endedWord)
	number, how, _ := strings.Cut(rest, " ")
	process, err := strconv.Atoi(number)
	return endedTask{process, how}, ok && err == nil
}

// srunEnded is how srun tells of tasks that have failed:
// "srun: error: node2: tasks 3,5-7: Exited with exit code 1".
var srunEnded = pattern.New(`^srun: error: (\S+): tasks? ([0-9,-]+): (.+)$`)

// endedBySrun are the tasks that a line of srun tells of; the first of each range, which
// names the line.
func endedBySrun(line string) (all []endedTask) {
	m := srunEnded.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	for part := range strings.SplitSeq(m[2], ",") {
		first, _, _ := strings.Cut(part, "-")
		if n, err := strconv.Atoi(first); err == nil {
			all = append(all, endedTask{n, fmt.Sprintf("srun on %s: %s", m[1], m[3])})
		}
	}
	return all
}
