package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/pattern"
)

// variant is a build or an environment of a search.
type variant struct {
	name string
	// text are its settings as they were given, environ and args what they say.
	text          string
	environ, args []string
}

var (
	variantName     = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	variantVariable = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

// variantFlags are those that a variant may have, besides those of libraries: they change
// what a child runs on, not what it measures.
var variantFlags = []string{"backend", "fabric", "fault", "cache", "launch", "slurm-args", "hostfile"}

// parseVariants reads the values of --variant.
func parseVariants(s State, given []string, benchmark string) ([]variant, error) {
	const hint = "--variant NAME='VARIABLE=value … --flag value …', at least twice"
	if len(given) < 2 {
		return nil, usagef(hint, "bisect takes at least two variants, got %d", len(given))
	}
	var out []variant
	for _, text := range given {
		name, settings, ok := strings.Cut(text, "=")
		switch {
		case !ok || !variantName.MatchString(name):
			return nil, usagef(hint, "--variant %q: it must begin with a name of letters, digits, dots, dashes and =", text)
		case slices.ContainsFunc(out, func(v variant) bool { return v.name == name }):
			return nil, usagef(hint, "two variants have the name %s", name)
		}
		v, err := parseVariant(s, name, settings, benchmark)
		if err != nil {
			return nil, usage(fmt.Errorf("--variant %s: %w", name, err), hint)
		}
		out = append(out, v)
	}
	return out, nil
}

// varied are the variants, as --variant has them, of a list of values of one knob: each is named as its
// value.
func varied(text string) ([]string, error) {
	const hint = "--vary VARIABLE=VALUE,VALUE…, or --vary FLAG=VALUE,VALUE…; where values have commas or other characters, give each with --variant"
	knob, list, ok := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	isFlag := knob == strings.ToLower(knob) // parseVariant refuses those that a variant cannot have
	if !ok || !isFlag && !variantVariable.MatchString(knob+"=") {
		return nil, usagef(hint, "--vary %q: %q is neither a variable nor a flag", text, knob)
	}
	values := strings.Split(list, ",")
	if len(values) < 2 {
		return nil, usagef(hint, "--vary %s: it has one value, and there is nothing to compare", text)
	}
	var out []string
	for _, v := range values {
		if !variantName.MatchString(v) {
			return nil, usagef(hint, "--vary %s: the value %q cannot name a variant: letters, digits, dots, dashes, + and _", text, v)
		}
		if isFlag {
			out = append(out, v+"=--"+knob+"="+v)
			continue
		}
		out = append(out, v+"="+knob+"="+v)
	}
	return out, nil
}

// parseVariant reads the settings of one: variables, then flags.
func parseVariant(s State, name, settings, benchmark string) (variant, error) {
	v := variant{name: name, text: strings.TrimSpace(settings)}
	words := strings.Fields(settings)
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		if !variantVariable.MatchString(words[0]) {
			return v, fmt.Errorf("%q is neither VARIABLE=value nor a flag", words[0])
		}
		v.environ, words = append(v.environ, words[0]), words[1:]
	}
	v.args = words
	probe := childCommand(s, benchmark)
	probe.SetOut(io.Discard)
	if err := probe.ParseFlags(words); err != nil {
		return v, flagError(err)
	}
	if rest := probe.Flags().Args(); len(rest) > 0 {
		return v, fmt.Errorf("%q follows the flags: variables stand before them", rest[0])
	}
	var refused error
	probe.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(variantFlags, f.Name) && !isLibraryFlag(f.Name) {
			refused = fmt.Errorf("--%s is for all variants: give it outside of --variant. A variant may have --%s and the flags of libraries", f.Name, strings.Join(variantFlags, ", --"))
		}
	})
	return v, refused
}

// childCommand is the command that a child runs.
func childCommand(s State, benchmark string) *cobra.Command {
	if b := benchOf(benchmark); b != nil {
		cmd := &cobra.Command{Use: benchmark}
		b.add(cmd, s)
		return cmd
	}
	return newCollectives(s)
}

// commonArgs are the flags of all children that are not part of the request.
func commonArgs(cmd *cobra.Command) []string {
	var out []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !isLibraryFlag(f.Name) && !slices.Contains(launchFlags, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			out = append(out, "--"+f.Name+"="+v)
		}
	})
	return out
}
