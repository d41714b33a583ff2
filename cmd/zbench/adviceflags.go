package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"zbench/bench/answers/advice"
	"zbench/bench/base/exit"
	"zbench/bench/base/option"
	"zbench/bench/base/slice"
	"zbench/bench/job/shell"
	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
)

// isAdviceFlag reports whether a flag is a part of the question about a bucket size.
func isAdviceFlag(name string) bool {
	return slices.ContainsFunc(spec.AdviceFlags, func(f option.Row[spec.Asked]) bool { return f.Name == name })
}

// completeAdvice reads the files of the question about a bucket size and returns the question. It
// returns nil if the user did not ask it.
func completeAdvice(s State, o *spec.Asked) (*spec.Advice, error) {
	if !o.Given() {
		return nil, nil
	}
	want := o.Advice
	var err error
	if o.ParamsFile != "" {
		if want.Model, err = readParams(s, o.ParamsFile); err != nil {
			return nil, err
		}
	}
	if o.ConfigFile != "" {
		if want.Config, err = readConfig(s, o.ConfigFile, o.Args, o.Variables); err != nil {
			return nil, err
		}
	} else if o.Args != "" || len(o.Variables) > 0 {
		return nil, usagef("give the script with --config", "--args and --set are of a script, and there is none")
	}
	if o.Steps != "" {
		if want.Observed, err = readObserved(s, o.Steps); err != nil {
			return nil, err
		}
	}
	if len(o.Traces) > 0 {
		t, err := readTraces(s, o.Traces)
		if err != nil {
			return nil, err
		}
		err = advice.Traced(&want, t, slice.Map(o.Traces, func(path string) string { return base(filepath.Clean(path)) })...)
		return &want, err
	}
	return &want, nil
}

// readObserved reads timed steps from a CSV file, or from a list in which a time may be a trace.
func readObserved(s State, text string) (*spec.Observed, error) {
	const hint = "--observed takes SETTING=TIME,…, such as 25=412ms,100=388ms,2=431ms, or a CSV of setting and time"
	if strings.Contains(text, "=") {
		o, err := spec.ParseObserved(text, func(path string) (string, []float64, error) {
			t, err := readTraces(s, []string{path})
			if err != nil {
				return "", nil, err
			}
			times := t.StepTimes()
			if len(times) == 0 {
				return "", nil, usagef("profile with a schedule and prof.step(), or give a time", "%s shows no steps", path)
			}
			return base(path), times, nil
		})
		if err != nil {
			return nil, usage(fmt.Errorf("--observed: %w", err), hint)
		}
		return o, nil
	}
	f, err := s.FS.Open(text)
	if err != nil {
		return nil, missingFile(err, text, hint)
	}
	defer f.Close() //nolint:errcheck // the file was only read
	o, err := spec.ReadObserved(base(text), f)
	if err != nil {
		return nil, usage(err, hint)
	}
	return o, nil
}

// readConfig reads the trainer's own settings. A shell script is read as if it were called with
// args and with these variables.
func readConfig(s State, path, args string, variables []string) (*spec.Config, error) {
	text, err := s.FS.ReadFile(path)
	if err != nil {
		return nil, missingFile(err, path, "give the trainer's arguments, script, YAML or JSON")
	}
	given := shell.Given{Set: map[string]string{}}
	if given.Args, err = shell.Split(args); err != nil {
		return nil, usagef("quote them as in a shell: --args 'dsw 7B 1'", "--args: %v", err)
	}
	for _, pair := range variables {
		name, value, _ := strings.Cut(pair, "=")
		given.Set[name] = value
	}
	found, err := trainer.Find(string(text), given)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", path, err), "zbench reads "+strings.Join(trainer.Reads(), ", ")+", and the log in which the job prints its arguments")
	}
	return &spec.Config{File: base(path), Settings: found.Settings, Args: args, Set: variables, Form: found.Form, Notes: found.Notes, Unread: found.Unread}, nil
}

func readParams(s State, path string) (*trainer.Model, error) {
	f, err := s.FS.Open(path)
	if err != nil {
		return nil, missingFile(err, path, "give a CSV, a JSON, a safetensors file or Megatron's log")
	}
	defer f.Close() //nolint:errcheck // the file was only read
	m, err := trainer.ReadModel(base(path), f, func(name string) (io.ReadCloser, error) {
		return s.FS.Open(filepath.Join(filepath.Dir(path), name))
	})
	if err != nil {
		return nil, usage(err, "`zbench recommend --help` describes --params")
	}
	return m, nil
}

// base returns the name of a file without its folder, because a record must not contain paths of a
// machine.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// missingFile turns the error of opening a user's file into a usage error.
func missingFile(err error, path, hint string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usagef(hint, "%s does not exist", path)
	}
	return exit.With(exit.Run, fmt.Errorf("%s cannot be read: %w", path, err), hint)
}
