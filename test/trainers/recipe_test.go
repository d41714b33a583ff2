package trainers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/project"
)

// The documented CI jobs run as they stand in docs/LOOPBACK.md, but for the packages, which the chroot
// has.
func TestDocumentedJobs(t *testing.T) {
	in := enter(t, "")
	require.NoError(t, os.Symlink("/var/cache/zbench", filepath.Join(in.root, in.at, "loopback"))) // the chroot has no compiler
	type end struct {
		code int
		out  string
	}
	ends := map[string]end{} // the jobs of one kind of CI are those of the other
	run := func(command string) (int, string) {
		if e, ran := ends[command]; ran {
			return e.code, e.out
		}
		cmd := buffered(exec.Command("chroot", in.root, "env", "ZBENCH_CACHE_DIR="+in.at, "PATH="+in.at+":/usr/bin:/bin", //nolint:gosec // the document's own commands
			"bash", "-c", "cd "+in.at+" && "+command))
		_ = cmd.Run() // the code tells
		ends[command] = end{cmd.ProcessState.ExitCode(), fmt.Sprint(cmd.Stdout)}
		return ends[command].code, ends[command].out
	}
	_, text, found := strings.Cut(project.Read(t, "docs/LOOPBACK.md"), "### A trainer's schedule in CI\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	steps := regexp.MustCompile(`(?m)^ +- run: "?((?:! )?zbench [^"\n]+)"?$`).FindAllStringSubmatch(text, -1)
	require.Len(t, steps, 3)
	for _, step := range steps {
		command, fails := strings.CutPrefix(step[1], "! ")
		code, out := run(command)
		require.Equal(t, fails, code != 0, "%s\n%s", step[1], out)
	}
	tests := regexp.MustCompile(`(?m)^add_test\(NAME (\w+) COMMAND ([^)]+)\)$`).FindAllStringSubmatch(text, -1)
	require.Len(t, tests, 2)
	for _, one := range tests {
		code, out := run(one[2])
		passes := regexp.MustCompile(`set_tests_properties\(` + one[1] + ` PROPERTIES PASS_REGULAR_EXPRESSION "([^"]+)"\)`).FindStringSubmatch(text)
		if passes == nil {
			require.Equal(t, 0, code, "%s\n%s", one[2], out)
			continue
		}
		require.NotEqual(t, 0, code)
		require.Regexp(t, passes[1], out)
	}
}
