package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

var packaged = flag.String("packaged", "", "write the manual pages and completions of a package below this folder (scripts/release.sh)")

// completions are the shells with the place of their file below /usr/share.
var completions = map[string]string{
	"bash": "bash-completion/completions/zbench",
	"zsh":  "zsh/vendor-completions/_zbench",
	"fish": "fish/vendor_completions.d/zbench.fish",
}

// A package has a manual page for each command that help lists, with all flags, and completions for three
// shells. They follow from the commands, and are no part of the binary but for what the shells ask it.
func TestPackagedPagesAndCompletions(t *testing.T) {
	require.Equal(t, "\\&.x \\e \\-\n\\&'", roff(".x \\ -\n'"), "no line is taken for a request")
	dir := *packaged
	if dir == "" {
		dir = t.TempDir()
	}
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))  //nolint:gosec // a package's folders are read by all
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644)) //nolint:gosec // its files, too
	}
	s, _ := testState(t, "--help")
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
			return
		}
		page := manualPage(cmd)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				require.Contains(t, page, roff("--"+f.Name), cmd.CommandPath())
			}
		})
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		write("man/man1/"+name, page)
		if groff, err := exec.LookPath("groff"); err == nil {
			check := exec.Command(groff, "-man", "-ww", "-K", "utf8", "-Tutf8", "-z", filepath.Join(dir, "man/man1", name))
			out, err := check.CombinedOutput()
			require.NoError(t, err, "%s: %s", name, out)
			require.Empty(t, string(out), name)
		}
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each(newRoot(s))
	for shell, file := range completions {
		s, out := testState(t, "completion", shell)
		require.Zero(t, Main(context.Background(), s))
		require.Contains(t, out.String(), "__complete", shell)
		write(file, out.String())
	}
	s, out := testState(t, "__complete", "collectives", "--gpus")
	s.Stderr = Stream{Writer: &bytes.Buffer{}}
	require.Zero(t, Main(context.Background(), s))
	require.Contains(t, out.String(), "--gpus-per-node", "what the shells ask")
}

// manualPage is the page of a command in section 1.
func manualPage(cmd *cobra.Command) string {
	w := new(strings.Builder)
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(w, ".TH %s 1\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roff(name)), roff(name), roff(cmd.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	if cmd.Long != "" {
		fmt.Fprint(w, ".SH DESCRIPTION\n", paragraphs(cmd.Long))
	}
	options := new(strings.Builder)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		unit, meaning := pflag.UnquoteUsage(f)
		flags := "--" + f.Name
		if f.Shorthand != "" {
			flags = "-" + f.Shorthand + ", " + flags
		}
		if d := f.DefValue; d != "" && d != "0" && d != "false" && d != "[]" && !strings.Contains(meaning, "(default") {
			meaning += " (default " + d + ")"
		}
		fmt.Fprintf(options, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(flags+" "+unit)), roff(meaning))
	})
	if options.Len() > 0 {
		fmt.Fprint(w, ".SH OPTIONS\n", options)
	}
	if cmd.HasExample() {
		fmt.Fprint(w, ".SH EXAMPLES\n", literal(cmd.Example))
	}
	if !cmd.HasParent() {
		fmt.Fprint(w, ".SH EXIT STATUS\n", literal(exitCodes()))
	}
	var also []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			also = append(also, roff(strings.ReplaceAll(sub.CommandPath(), " ", "-"))+"(1)")
		}
	}
	if cmd.HasParent() {
		also = append(also, roff(strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-"))+"(1)")
	}
	fmt.Fprintf(w, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	return w.String()
}

// paragraphs is text with its empty lines; what is indented keeps its lines.
func paragraphs(text string) string {
	var out []string
	for part := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(part, "  ") {
			out = append(out, literal(part))
			continue
		}
		out = append(out, roff(part)+"\n")
	}
	return strings.Join(out, ".PP\n")
}

// literal is text whose lines stay.
func literal(text string) string { return ".nf\n" + roff(strings.TrimRight(text, "\n")) + "\n.fi\n" }

// roff escapes text: a backslash, a hyphen that is typed, and a line that begins as a request does.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
