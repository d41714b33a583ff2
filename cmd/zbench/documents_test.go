package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	documentFence = regexp.MustCompile("(?ms)^```\n(.*?)^```")
	documentLine  = regexp.MustCompile(`(?m)^(?:bin/|go run \./cmd/)?zbench( .*)?$`)
	documentCode  = regexp.MustCompile("`zbench( [^`]*)`")
	// documentHole stands for a number, documentNote for nothing.
	documentHole = regexp.MustCompile(`\b[A-Z]\b`)
	documentNote = regexp.MustCompile(`\[.*?\]|…`)
)

// refusedCommand is why a command line that a document shows cannot be parsed, nil
// when it can. Text in brackets and after # or three spaces is left out; a capital
// letter stands for a number.
func refusedCommand(line string) error {
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(strings.TrimSpace(line), "   ")
	line = documentHole.ReplaceAllString(strings.TrimSpace(documentNote.ReplaceAllString(line, "")), "1")
	root := newRoot(State{})
	words := strings.Fields(line)
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if cmd == root && len(words) > 0 && words[0] != "COMMAND" {
		return fmt.Errorf("no command in %q", line)
	}
	cmd.InitDefaultHelpFlag()
	return cmd.ParseFlags(rest)
}

func TestRefusedCommandIsFound(t *testing.T) {
	for _, line := range []string{" collectives [NAME…]     sweep", " COMMAND --help", " list collectives|fabrics", " doctor --compile gfx942    # builds", ""} {
		require.NoError(t, refusedCommand(line), line)
	}
	for _, line := range []string{" colectives", " collectives --node 128", " recommend DIR --step-ms fast", " kernels muom --preset x"} {
		require.Error(t, refusedCommand(line), line)
	}
}

// Every command line that the documents show is one: the command exists and takes
// the flags.
func TestDocumentsShowCommandsThatParse(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	seen := 0
	for _, file := range append(files, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var lines []string
		for _, fence := range documentFence.FindAllStringSubmatch(string(text), -1) {
			for _, m := range documentLine.FindAllStringSubmatch(fence[1], -1) {
				lines = append(lines, m[1])
			}
		}
		for _, m := range documentCode.FindAllStringSubmatch(string(text), -1) {
			lines = append(lines, m[1])
		}
		for _, line := range lines {
			seen++
			require.NoError(t, refusedCommand(line), "%s: zbench%s", file, line)
		}
	}
	require.Greater(t, seen, 30)
}
