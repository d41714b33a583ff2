package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"zbench/bench/trainer"
)

// readConfig reads the trainer's own settings.
func (q *query) readConfig(s State) error {
	if q.o.config == "" {
		return nil
	}
	text, err := s.FS.ReadFile(q.o.config)
	if err != nil {
		return notThere(err, q.o.config, "give the trainer's arguments, script, YAML or JSON")
	}
	want := ""
	if q.o.framework != "" {
		t, err := trainer.ByName(q.o.framework)
		if err != nil {
			return usage(err, "")
		}
		want = t.Name
	}
	if q.in.Config, err = trainer.ReadConfig(string(text), want); err != nil {
		return usage(fmt.Errorf("%s: %w", q.o.config, err), "what is read: "+strings.Join(trainer.Reads(), ", "))
	}
	q.in.ConfigFile = base(q.o.config)
	q.split()
	if q.in.Framework == "" {
		q.in.Framework = q.in.Config.Trainer
	}
	return nil
}

// split cuts a preset as the file says, unless a flag says otherwise.
func (q *query) split() {
	c := q.in.Config
	for _, x := range []struct {
		flag string
		to   *int
		from *int
	}{{"ep", &q.o.run.EP, c.EP}, {"pp", &q.o.pp, c.PP}} {
		if x.from != nil && !q.o.has(x.flag) {
			*x.to = *x.from
		}
	}
}

// notThere makes an error about a file of the user's a usage error.
func notThere(err error, path, hint string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usagef(hint, "%s does not exist", path)
	}
	return &codeError{exitRun, fmt.Errorf("%s cannot be read: %w", path, err), hint}
}

// whence is the hint for a run that contradicts itself: where it was said.
func (q *query) whence(help string) string {
	if q.in.ConfigFile == "" {
		return help
	}
	return q.in.ConfigFile + " says so where no flag does: correct it, or give --dp, --ep, --instances or --zero"
}
