package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zbench/bench/exit"
	"zbench/bench/folder"
	"zbench/internal/launch"
	"zbench/internal/native"
	"zbench/scripts"
)

// clockLibrary is the library that is preloaded for the virtual clock. No vendor has one
// of that name, so it marks a folder as the loopback's.
const clockLibrary = "libzbench-clock.so"

// loopbackNames are the libraries that a folder of the loopback has.
var loopbackNames = []string{"libamdhip64.so.6", "librccl.so.1", clockLibrary}

// loopbackCaches set the cache folder if --cache-dir is absent, each with its subfolder.
var loopbackCaches = []struct{ variable, below string }{
	{"ZBENCH_CACHE_DIR", "loopback"},
	{"XDG_CACHE_HOME", "zbench/loopback"},
	{"HOME", ".cache/zbench/loopback"},
}

// cacheFolder is where built libraries and machine files are kept.
func (o *loopbackOptions) cacheFolder(s State) (string, error) {
	folder := o.cache
	for _, c := range loopbackCaches {
		if v := s.Getenv(c.variable); folder == "" && v != "" {
			folder = filepath.Join(v, c.below)
		}
	}
	if folder == "" {
		return "", usagef("give --cache-dir, or set ZBENCH_CACHE_DIR, XDG_CACHE_HOME or HOME", "there is no folder to keep the loopback's files in")
	}
	folder, err := filepath.Abs(folder)
	if err == nil {
		err = s.FS.MkdirAll(folder)
	}
	return folder, err
}

// builtLibraries is the folder of the loopback's libraries: the one that the user gives, or
// the one that this zbench has built.
func (o *loopbackOptions) builtLibraries(ctx context.Context, s State, cache string) (string, error) {
	if o.libraries == "" {
		return buildLibraries(ctx, s, cache)
	}
	folder, err := filepath.Abs(o.libraries)
	if err != nil {
		return "", err
	}
	var lacks []string
	for _, below := range []string{"rocm/lib", "lib", ""} {
		dir := filepath.Join(folder, below)
		if lacks = missingIn(s, dir); len(lacks) == 0 {
			return dir, nil
		}
	}
	return "", exit.With(exit.Unavailable, fmt.Errorf("--libraries %s: the loopback's libraries are not there (%s)", o.libraries, strings.Join(lacks, ", ")),
		"make loopback in zbench's sources leaves them in bin/loopback; without --libraries zbench builds them")
}

func missingIn(s State, dir string) []string {
	return slices.DeleteFunc(slices.Clone(loopbackNames), func(name string) bool {
		_, err := s.FS.Stat(filepath.Join(dir, name))
		return err == nil
	})
}

// buildLibraries builds the libraries from the sources in this binary, once for each version
// of them and each compiler.
func buildLibraries(ctx context.Context, s State, cache string) (string, error) {
	files, sum, err := loopbackSources(s)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, sum)
	lib, complete := filepath.Join(folder, "rocm/lib"), filepath.Join(folder, "complete")
	if _, err := s.FS.Stat(complete); err == nil {
		return lib, nil
	}
	shell, err := buildTools(s)
	if err != nil {
		return "", err
	}
	unlock, err := waitForLock(ctx, s, folder+".lock")
	if err != nil {
		return "", err
	}
	defer unlock() //nolint:errcheck // a lock that stays is taken over by the next run
	if _, err := s.FS.Stat(complete); err == nil {
		return lib, nil // another process has built them meanwhile
	}
	s.note(false, "building the loopback's libraries in %s\n", folder)
	for name, text := range files {
		file := filepath.Join(folder, "source", name)
		if err := cmp.Or(s.FS.MkdirAll(filepath.Dir(file)), s.FS.WriteFile(file, text)); err != nil {
			return "", err
		}
	}
	if err := build(ctx, s, []string{shell, filepath.Join(folder, "source/scripts/loopback.sh"), folder}, cache); err != nil {
		return "", err
	}
	return lib, s.FS.WriteFile(complete, nil)
}

// loopbackSources are the files that make the libraries, by path, and a name for what is
// built of them.
func loopbackSources(s State) (files map[string][]byte, sum string, err error) {
	files = map[string][]byte{"scripts/loopback.sh": scripts.Loopback}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s\n%s\n", compilerName(s, "CC"), compilerName(s, "CXX"), scripts.Loopback)
	err = fs.WalkDir(native.Sources(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(native.Sources(), name)
		files[filepath.Join("internal/native", name)] = text
		_, _ = fmt.Fprintf(h, "%s %d\n%s\n", name, len(text), text)
		return err
	})
	return files, hex.EncodeToString(h.Sum(nil))[:16], err
}

// compilerName is the command of a compiler.
func compilerName(s State, variable string) string {
	return cmp.Or(s.Getenv(variable), map[string]string{"CC": "cc", "CXX": "c++"}[variable])
}

// buildTools finds bash and the compilers, and returns bash.
func buildTools(s State) (string, error) {
	shell := ""
	for _, name := range []string{compilerName(s, "CC"), compilerName(s, "CXX"), "bash"} {
		command, _, _ := strings.Cut(name, " ") // CC="ccache gcc"
		file, err := lookPath(s, command)
		if err != nil {
			return "", exit.With(exit.Unavailable, fmt.Errorf("the loopback's libraries cannot be built: %w", err),
				"install a C and C++ compiler (Debian: build-essential) or name them in CC and CXX, or give --libraries with the folder that make loopback has built")
		}
		shell = file
	}
	return shell, nil
}

// build runs the script that builds the libraries. Objects that versions share are kept in
// the cache folder.
func build(ctx context.Context, s State, argv []string, cache string) error {
	line := launch.Line{Set: []launch.Var{{Name: "ONLY", Value: "rocm"}, {Name: "XDG_CACHE_HOME", Value: cache}}, Unset: []string{"NOISY", "LD_PRELOAD"}}
	child, err := s.Start(Command{Argv: argv, Environ: line.Environ(s.Environ(), "")})
	if err != nil {
		return exit.With(exit.Unavailable, fmt.Errorf("%s cannot be started: %w", argv[0], err), "give --libraries with the folder that make loopback has built")
	}
	defer context.AfterFunc(ctx, child.Kill)()
	code, how := child.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case code != 0:
		return exit.With(exit.Unavailable, fmt.Errorf("the loopback's libraries could not be built (%s): the compiler's messages are above", how),
			"name other compilers in CC and CXX, or give --libraries with the folder that make loopback has built")
	}
	return nil
}

// lockPoll is how often a lock is tried that another process has.
const lockPoll = 200 * time.Millisecond

// waitForLock takes a lock, and waits while another process has it.
func waitForLock(ctx context.Context, s State, file string) (unlock func() error, err error) {
	for {
		unlock, _, err = s.FS.Lock(file, fmt.Sprintf("process %d on %s", s.PID, s.Hostname()))
		if held := (*folder.LockedError)(nil); !errors.As(err, &held) {
			return unlock, err
		}
		again := time.NewTimer(lockPoll)
		select {
		case <-ctx.Done():
			again.Stop()
			return nil, ctx.Err()
		case <-again.C:
		}
	}
}

// keepMachine writes a machine file, named by its content: the processes of a program may
// read it at any time.
func keepMachine(s State, cache string, text []byte) (string, error) {
	sum := sha256.Sum256(text)
	file := filepath.Join(cache, "machine-"+hex.EncodeToString(sum[:8]))
	if have, err := s.FS.ReadFile(file); err == nil && slices.Equal(have, text) {
		return file, nil
	}
	return file, s.FS.WriteFile(file, text)
}

// lookPath finds a program as a shell does: a path, or a name in PATH.
func lookPath(s State, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, runnable(s, name)
	}
	for _, dir := range filepath.SplitList(s.Getenv("PATH")) {
		if file := filepath.Join(cmp.Or(dir, "."), name); runnable(s, file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not in PATH", name)
}

// runnable tells whether a file is a program.
func runnable(s State, file string) error {
	info, err := s.FS.Stat(file)
	switch {
	case err != nil:
		return err
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not a program that may be run", file)
	}
	return nil
}
