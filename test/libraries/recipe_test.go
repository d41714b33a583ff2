package libraries

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recipe are the commands of the CI job in docs/LOOPBACK.md, without YAML's quotes.
func recipe(t *testing.T) []string {
	text, err := os.ReadFile("../../docs/LOOPBACK.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "\n## In a project's CI\n")
	require.True(t, found)
	block := regexp.MustCompile("(?ms)^```\n(.*?)^```").FindStringSubmatch(rest)
	require.NotNil(t, block)
	_, script, found := strings.Cut(block[1], "\n  script:\n")
	require.True(t, found)
	var lines []string
	for line := range strings.Lines(script) {
		command, found := strings.CutPrefix(strings.TrimRight(line, "\n"), "    - ")
		require.True(t, found, line)
		lines = append(lines, strings.TrimSuffix(strings.TrimPrefix(command, `"`), `"`))
	}
	return lines
}

// A run that must fail proves nothing alone: whatever keeps the program from starting makes it
// pass. Right before it stands the same run without the fault.
func TestNegatedRunsHaveTheirTwin(t *testing.T) {
	lines, negated := recipe(t), 0
	for i, line := range lines {
		if command, not := strings.CutPrefix(line, "! "); not {
			require.Positive(t, i)
			require.Contains(t, command, " --fault ")
			require.Equal(t, lines[i-1], regexp.MustCompile(` --fault \S+`).ReplaceAllString(command, ""))
			negated++
		}
	}
	require.Positive(t, negated)
}

// The documented CI job runs as it stands there, command by command, in the distribution that
// it names, whose Open MPI is version 5, and in one whose UCX loads ROCm's HSA. Its packages
// are those that scripts/chroot.sh has installed. The project's test, which stands in for
// rccl-tests, too, is testdata/recipe.
func TestDocumentedJobRuns(t *testing.T) {
	for _, variable := range []string{"ZBENCH_TRIXIE", "ZBENCH_SID"} {
		t.Run(variable, func(t *testing.T) {
			chroot := at(t, variable).folder
			project, inside := projectIn(t, chroot)
			require.NoError(t, os.CopyFS(project, os.DirFS("testdata/recipe")))
			script := "set -e\ncd " + inside + `
apt-get() { [ "$1" = update ] || for p in "${@:3}"; do dpkg -s "$p" > /dev/null; done; }
mkdir -p /root/.cache; ln -s /root/.cache .cache # which jobs keep
./zbench loopback -q --env > env
cc tests/all_reduce_test.c $(sed -n "s/^export LD_LIBRARY_PATH='\(.*\)'/-L\1/p" env) -l:librccl.so.1 -lamdhip64 -lhsa-runtime64 -o tests/all_reduce_test $(mpicc --showme:compile) $(mpicc --showme:link)
mkdir bin; ln -s ../tests/all_reduce_test bin/all_reduce_perf; export PATH=$PWD/bin:$PATH
`
			for _, line := range recipe(t) {
				if command, not := strings.CutPrefix(line, "! "); not {
					line = "if " + command + `; then echo "it did not fail"; exit 1; fi`
				}
				script += line + "\n"
			}
			out, err := inChroot(chroot, "bash", "-c", script).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.NotContains(t, string(out), "ERROR", "of UCX")
			require.Contains(t, string(out), "16 ranks, 0 wrong\n")
			require.Contains(t, string(out), "8 ranks, 0 wrong\n")
			require.Regexp(t, `8 ranks, [1-9]\d* wrong\n`, string(out))
		})
	}
}
