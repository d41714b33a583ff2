package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/hardware/backend"
	"zbench/internal/launch"
	"zbench/internal/native"
)

// libraryOptions has the paths of a vendor's libraries and the folder of compiled kernels.
type libraryOptions struct {
	named map[string]string
	cache string
	// openTimeout is the time limit, as text, for opening one library.
	openTimeout string
	// quiet reports whether progress is suppressed; nil means no.
	quiet func() bool
}

// timeoutVariable is the variable that is used if --lib-timeout is not given.
const timeoutVariable = "ZBENCH_LIB_TIMEOUT"

// noCache is the value that turns the cache of compiled kernels off.
const noCache = "none"

// cacheBelow returns the folder for zbench's files if no flag names one. If ZBENCH_CACHE_DIR is
// set, the result is its subfolder `own`. Otherwise the result is the subfolder `below` of zbench's
// folder in the user's cache. The result is empty if caching is off or no folder is known.
func cacheBelow(s State, own, below string) string {
	for _, c := range [][2]string{{"ZBENCH_CACHE_DIR", own}, {"XDG_CACHE_HOME", "zbench/" + below}, {"HOME", ".cache/zbench/" + below}} {
		if v := s.Getenv(c[0]); v == noCache {
			return ""
		} else if v != "" {
			return filepath.Join(v, c[1])
		}
	}
	return ""
}

// addLibraryFlags adds a flag to a command for each setting of package native.
func addLibraryFlags(cmd *cobra.Command, o *libraryOptions) {
	o.named = map[string]string{}
	o.quiet = func() bool {
		f := cmd.Flags().Lookup("quiet")
		return f != nil && f.Value.String() == "true"
	}
	for _, row := range native.Settings() {
		cmd.Flags().Var(&settingValue{o.named, row.Flag}, row.Flag, row.Meaning+" ("+strings.Join(row.Variables, ", ")+")")
	}
	cmd.Flags().StringVar(&o.cache, "cache-dir", "", "folder of compiled kernels, or "+noCache+" (ZBENCH_CACHE_DIR; default below XDG_CACHE_HOME)")
	cmd.Flags().StringVar(&o.openTimeout, native.SettingWithin, "", fmt.Sprintf("time limit for opening one library, in seconds (%s; default %g)", timeoutVariable, native.OpenWithin.Seconds()))
}

// isLibraryFlag reports whether a flag is a setting of libraries and not a part of the request.
func isLibraryFlag(name string) bool { return slices.Contains(libraryFlags(), name) }

// libraryFlags returns the names of the flags for libraries, in alphabetical order.
func libraryFlags() []string {
	names := append(slice.Map(native.Settings(), func(s native.Setting) string { return s.Flag }), "cache-dir", native.SettingWithin)
	return slices.Sorted(slices.Values(names))
}

// given returns the library flags that the user gave, with their values.
func (o libraryOptions) given() [][]string {
	var flags [][]string
	for _, row := range native.Settings() {
		if v := o.named[row.Flag]; v != "" {
			flags = append(flags, []string{"--" + row.Flag, v})
		}
	}
	return flags
}

// settingValue is a flag of one setting.
type settingValue struct {
	to   map[string]string
	flag string
}

func (v *settingValue) String() string { return v.to[v.flag] }
func (v *settingValue) Type() string   { return "path" }
func (v *settingValue) Set(text string) error {
	if text == "" {
		return fmt.Errorf("empty: leave --%s out", v.flag)
	}
	v.to[v.flag] = text
	return nil
}

// choose chooses the backend. It warns about library flags that this backend ignores, because a
// user who names a library does not expect a simulation.
func (o libraryOptions) choose(s State, asked string) (string, error) {
	backend, err := chooseBackend(s, asked)
	if err != nil {
		return "", err
	}
	for _, row := range native.Settings() {
		if o.named[row.Flag] == "" || backend != "loopback" && (row.Backend == "" || row.Backend == backend) {
			continue
		}
		why, own := "--backend "+backend+" does not use it", cmp.Or(row.Backend, backendNames(" or "))
		if asked == "auto" && backend == "loopback" {
			why = "this machine has no GPU " + noNodes() + ", so --backend auto uses the built-in loopback"
		}
		fmt.Fprintf(s.Stderr, "zbench: --%s %s is ignored: %s\n  → --backend %s opens the library; otherwise remove the flag\n", row.Flag, o.named[row.Flag], why, own)
	}
	return backend, nil
}

// deadline returns the time limit for opening one library, or 0 if none is set.
func (o libraryOptions) deadline(s State) (time.Duration, error) {
	text, by := o.openTimeout, "--"+native.SettingWithin
	if text == "" {
		text, by = s.Getenv(timeoutVariable), timeoutVariable
	}
	if text == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0.001) || seconds > 86400 {
		return 0, usagef("give seconds, such as 60", "%s is %q: it must be a number from 0.001 to 86400", by, text)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// fill sets where native searches for libraries, and the time limit. In a folder, * stands for any
// part of a path, as in …/nvidia/*/lib of Python's packages. It returns the cache of compiled
// kernels, or nil if there is none.
func (o libraryOptions) fill(ctx context.Context, s State, n *native.Choice) (*native.CodeFolder, error) {
	within, err := o.deadline(s)
	if err != nil {
		return nil, err
	}
	n.Context, n.Within, n.Named = ctx, within, maps.Clone(o.named)
	if o.quiet == nil || !o.quiet() {
		n.Progress = s.task
	}
	list := n.Named[native.SettingFolders]
	if list == "" {
		list = s.Getenv("ZBENCH_LIB_PATH")
	}
	if strings.Contains(list, "*") {
		var folders []string
		for _, pattern := range filepath.SplitList(list) {
			found, err := expand(s.FS, pattern)
			if err != nil {
				return nil, err
			}
			folders = append(folders, found...)
		}
		n.Named[native.SettingFolders] = strings.Join(folders, string(filepath.ListSeparator))
	}
	dir := o.cacheDir(s)
	if dir == "" {
		return nil, nil
	}
	cache := native.NewCodeFolder(s.FS, dir)
	n.Cache = cache
	return cache, nil
}

func (o libraryOptions) cacheDir(s State) string {
	if o.cache == noCache {
		return ""
	}
	return cmp.Or(o.cache, cacheBelow(s, "", "kernels"))
}

// report prints a problem of the cache to standard error. The kernels were compiled anyway.
func (libraryOptions) report(s State, cache *native.CodeFolder) {
	if cache == nil {
		return
	}
	if err := cache.Err(); err != nil {
		fmt.Fprintf(s.Stderr, "zbench: %s\n  → give another folder with --cache-dir, or --cache-dir %s\n", err, noCache)
	}
}

// expand returns the folders that match a pattern with *, sorted by name. A pattern without * is a
// single folder.
func expand(files FS, pattern string) ([]string, error) {
	if !strings.Contains(pattern, "*") {
		return []string{filepath.Clean(pattern)}, nil
	}
	root := "."
	if filepath.IsAbs(pattern) {
		root = "/"
	}
	found, err := fs.Glob(treeFS{files, root}, strings.TrimPrefix(filepath.Clean(pattern), "/"))
	if err != nil {
		return nil, usagef("write * for any part of a name", "%q is not a pattern: %v", pattern, err)
	}
	return slice.Map(found, func(name string) string { return filepath.Join(root, name) }), nil
}

// noNodes says that no device node of a GPU exists.
func noNodes() string {
	return "(" + backend.Text(", ", func(v backend.Vendor) string { return "no " + v.Node }) + ")"
}

// backendNames joins the names of the vendors' backends.
func backendNames(by string) string {
	return backend.Text(by, func(v backend.Vendor) string { return v.Backend })
}

func unknownBackend(name string) error {
	return &spell.Unknown{Kind: "backend", Given: name, Valid: append([]string{"auto"}, native.Backends()...)}
}

// chooseBackend resolves the backend auto. If there is a GPU, it chooses the GPU's libraries. It
// chooses the loopback only if there is neither a GPU nor a launcher, because in an allocation
// simulated figures would be mistaken for the cluster's.
func chooseBackend(s State, asked string) (string, error) {
	if asked != "auto" {
		if !slices.Contains(native.Backends(), asked) {
			return "", usage(unknownBackend(asked), "--backend loopback needs no GPU")
		}
		return asked, nil
	}
	for _, v := range backend.Vendors() {
		if _, err := s.FS.Stat(v.Node); err == nil {
			return v.Backend, nil
		}
	}
	role, err := launch.Detect(s.Getenv)
	if err == nil && role.Kind != launch.Alone {
		err = errors.New(role.Text())
	}
	if err != nil {
		return "", exit.With(exit.Unavailable, fmt.Errorf("%w; this machine has no GPU %s, and under a launcher nothing is simulated unasked", err, noNodes()),
			"run it on the GPU nodes, or simulate with --backend loopback")
	}
	return "loopback", nil
}
