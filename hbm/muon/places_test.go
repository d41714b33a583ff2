package muon

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/project"
)

// What a family with a driver, a request, a page and findings of its own adds to files that others
// share. Trainers and their flags name the optimizer of the same name.
func TestMuonIsNamedInFourSharedFiles(t *testing.T) {
	named := regexp.MustCompile(`(?i)muon`)
	own := regexp.MustCompile(`muon[^/]*(/|$)|_test\.go$|^bench/job/trainer/|^bench/run/spec/advice\.go$`)
	var files []string
	project.Sources(t, []string{".go", ".c", ".h", ".cc", ".hip"}, func(rel string, text []byte) {
		if named.Match(text) && !own.MatchString(rel) {
			files = append(files, rel)
		}
	})
	require.Equal(t, []string{"bench/run/spec/kernels.go", "cmd/zbench/kernels.go", "internal/native/kernels/table.cc", "internal/native/unity.cc"}, files)
}
