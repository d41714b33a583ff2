package collective_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/project"
)

// A collective is named in four files: its row here, the function's row, the call, and
// the loopback's row. The list is that of CONTRIBUTING, "Adding a collective". Documents,
// tests and what tests use are left out, and so are the names of others' programs.
func TestACollectiveIsNamedInFourFiles(t *testing.T) {
	named := regexp.MustCompile(`all_to_all|[aA]llToAll\b|ALL_TO_ALL`)
	var files []string
	project.Sources(t, []string{".go", ".c", ".h", ".cc", ".sh", ".yaml"}, func(rel string, text []byte) {
		switch {
		case rel == "bench/answers/judge/issues.go": // what others report of collectives
		case rel == "bench/files/trace/names.go" || rel == "bench/files/formats/chakra.go": // other tools' words for those they have
		case strings.HasPrefix(rel, "bench/job/trainer/"): // which collectives trainers call
		case named.Match(text):
			files = append(files, rel)
		}
	})
	require.Equal(t, []string{
		"bench/hardware/collective/collective.go", "internal/native/c/abi.h", "internal/native/c/fake/collectives.h", "internal/native/c/launch.c",
	}, files)
}
