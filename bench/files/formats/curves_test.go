package formats

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/files/peers"
	"zbench/test/project"
)

// member is a file of an archive.
type member struct{ name, text string }

// archived is a tar of files, gzip.
func archived(t *testing.T, files ...member) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.text)), Typeflag: tar.TypeReg, Mode: 0o600}))
		_, err := io.WriteString(w, f.text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return b.String()
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

// An archive is its files: those that are no tables are named, and the rows are those of the files
// alone.
func TestAnArchiveIsItsFiles(t *testing.T) {
	reduce, gather := project.Read(t, "testdata/all_reduce.log"), project.Read(t, "testdata/logs/hipevt.log")
	archive := archived(t,
		member{"run/README.md", "Run on Tuesday.\n"}, member{"run/all_reduce.log", reduce}, member{"run/rank0.json", `{"traceEvents": []}`},
		member{"run/gather.log.gz", gzipped(t, gather)}, member{"run/noise.bin", strings.Repeat("\x00\x01", 2<<20)}, member{"run/empty", ""},
	)
	recs, left, err := Curves("job.tar.gz", strings.NewReader(archive), peers.Hints{})
	require.NoError(t, err)
	require.Len(t, recs, 2)
	for i, text := range []string{reduce, gather} {
		want, got := curveOf(t, "a.log", text), recs[i]
		require.Equal(t, want.Results, got.Results)
		require.Equal(t, want.World, got.World)
		require.Equal(t, want.Source.Imports[0].SHA256, got.Source.Imports[0].SHA256)
	}
	require.Equal(t, "job.tar.gz/run/all_reduce.log", recs[0].Source.Imports[0].File)
	require.Equal(t, "job.tar.gz/run/gather.log.gz", recs[1].Source.Imports[0].File)
	require.Len(t, left, 4)
	for i, says := range []string{
		"job.tar.gz/run/README.md has no table of rccl-tests or nccl-tests", "job.tar.gz/run/rank0.json is a trace of PyTorch's profiler: a trace is not a curve",
		"job.tar.gz/run/noise.bin: too large for a log: line 1 is longer", "job.tar.gz/run/empty has no table",
	} {
		require.Contains(t, left[i], says)
	}
}

// An archive without a table is refused, and so is one that is damaged or has too much.
func TestArchivesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text, says string
		is         error
	}{
		"no tables": {archived(t, member{"a.txt", "hello\n"}, member{"b.txt", "there\n"}), "x.tgz: no rccl-tests or nccl-tests table: none of its 2 files is one; x.tgz/a.txt has no table", peers.ErrNoTable},
		"no files":  {archived(t), "the file", peers.ErrNoTable},
		"cut":       {archived(t, member{"a.log", project.Read(t, "testdata/all_reduce.log")})[:900], "x.tgz/a.log: unexpected EOF", io.ErrUnexpectedEOF},
		"unnamed":   {archived(t, member{"a.log", strings.ReplaceAll(project.Read(t, "testdata/logs/copybw.log"), "all_reduce", "hypercube")}), `x.tgz/a.log: the collective "hypercube" is not supported`, peers.ErrCollective},
	} {
		recs, _, err := Curves("x.tgz", strings.NewReader(c.text), peers.Hints{})
		require.Empty(t, recs, name)
		require.Error(t, err, name)
		if name != "no files" { // a tar of two blocks of zeros has no mark
			require.ErrorIs(t, err, c.is, name)
			require.ErrorContains(t, err, c.says, name)
		}
	}
	bomb := archived(t, member{"a.txt", strings.Repeat("a line\n", 1<<17)}, member{"b.txt", strings.Repeat("a line\n", 1<<17)})
	seen := 0
	err := unpack("x.tgz", strings.NewReader(bomb), 1<<20, func(_ string, r io.Reader) error { seen++; _, err := io.Copy(io.Discard, r); return err })
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, "over 1048576 bytes")
	require.Equal(t, 2, seen)
}

// One registration is all that a format of curves takes: it is recognised, its rows are checked and
// named as those of the text, and other commands are told.
func TestACurveFormatIsOneRegistration(t *testing.T) {
	log := `{"form":"toy"}
{"op":"all_reduce","ranks":8,"bytes":1048576,"us":100.0,"alg":10.49,"bus":18.35}
{"op":"all_reduce","ranks":8,"bytes":2097152,"us":100.0,"alg":99.99,"bus":18.35}
{"op":"all_reduce","ranks":8,"bytes":4194304,"us":200.0,"alg":20.97,"bus":36.70}
`
	_, _, err := Curves("toy", strings.NewReader(log), peers.Hints{})
	require.ErrorIs(t, err, peers.ErrFormat)
	_, err = Read("toy", strings.NewReader(log))
	require.ErrorIs(t, err, ErrUnknown)
	defer func(before []Format) { all = before }(slices.Clone(all))
	register(Format{Name: "toy", Title: "a toy", Holds: Curve, Use: useImport, recognise: func(head []byte) bool { return has(head, `{"form":"toy"}`) }, curve: rewritten(toyText)})
	rec := curveOf(t, "toy", log)
	require.Len(t, rec.Results, 2, "%v", rec.Source.Imports[0].Skipped)
	require.Equal(t, []any{"all_reduce", 8, int64(1 << 20)}, []any{rec.Results[0].Collective, rec.Results[0].Ranks, rec.Results[0].Bytes})
	require.Equal(t, 4, rec.Source.Imports[0].Lines)
	require.Len(t, rec.Source.Imports[0].Skipped, 1)
	_, err = Read("toy", strings.NewReader(log))
	require.ErrorIs(t, err, ErrHolds)
	require.ErrorContains(t, err, "a toy, which holds no calls: `zbench import` reads it")
}

func toyText(r io.Reader) ([]byte, error) {
	out := bytes.NewBufferString("collective,nodes,ranks,size,time(us),algbw(GB/s),busbw(GB/s)\n")
	for d := json.NewDecoder(r); d.More(); {
		var row struct {
			Op           string
			Ranks, Bytes int
			US, Alg, Bus json.Number
		}
		if err := d.Decode(&row); err != nil {
			return out.Bytes(), err
		}
		if row.Op != "" {
			fmt.Fprintf(out, "%s,1,%d,%d,%s,%s,%s\n", row.Op, row.Ranks, row.Bytes, row.US, row.Alg, row.Bus)
		}
	}
	return out.Bytes(), nil
}

// Every command that takes a file asks the same registry: what has rows is recognised as a curve, and
// what holds something else is refused with what it is.
func TestWhatHoldsNoCurveIsNamed(t *testing.T) {
	for text, says := range map[string]string{
		`{"traceEvents": []}`:                              "f is a trace of PyTorch's profiler: a trace is not a curve, its times include waiting for peers",
		`<system version="1"></system>`:                    "f is the topology of a node, which holds no times of collectives",
		`{"communicators": [], "nccl_version": "2.28.9"}`:  "f is the report of a library's RAS service, which holds no times of collectives",
		"colltype,minbytes,maxbytes\nallgather,0,1,ring\n": "f is rules or measurements of a library's tuner, which holds no times of collectives",
	} {
		_, _, err := Curves("f", strings.NewReader(text), peers.Hints{})
		require.EqualError(t, err, says)
	}
}

// Without a table, other forms are named, and text is none of them.
func TestWithoutATable(t *testing.T) {
	for text, is := range map[string]error{
		`{"version": 3}`: peers.ErrFormat, "[\n{\"numCycle\":0}]": peers.ErrNoRows, "{}": peers.ErrFormat, "\ufeff [ {}, {} ]": peers.ErrFormat,
		"numCycle,name,size,type,time,algBw,busBw\n0,AllReduce,8,float,1,1,1\n":   peers.ErrNoRows,
		"collective,nodes,ranks,size_bytes,busbw_gbs\nall_reduce,1,8,4096,0.32\n": peers.ErrFormat,
		"size,time,busbw,root\n8,1,1,0\n":                                         peers.ErrFormat,
		`"Size", "Time", "BusBW"` + "\n":                                          peers.ErrFormat,
		"\xff\xfe#\x00":                                                           peers.ErrFormat,
		"[](){#ref}":                                                              peers.ErrNoTable, `["hosta", "hostb"]`: peers.ErrNoTable, "[]": peers.ErrNoTable,
		"We varied the size, took the time, and were glad of the busbw.": peers.ErrNoTable,
		"\x1f\x8b\x08": ErrDamaged,
	} {
		_, _, err := Curves("f", strings.NewReader(text), peers.Hints{})
		require.ErrorIs(t, err, is, text)
		require.Greater(t, len(err.Error()), 20)
	}
}

// The JSON of both tools: all rows, and of nccl-tests' the world.
func TestDataJSONIsRead(t *testing.T) {
	for f, hosts := range map[string][]string{"synthetic_nccl-tests-2.19.6_v3.json": {"nodeA", "nodeB"}, "synthetic_rccl-tests_mpi.json": nil} {
		text := string(whole(t, filepath.Join("logs", f)))
		rec := curveOf(t, f, text)
		require.Len(t, rec.Results, 28, f)
		require.Equal(t, hosts, rec.World.Hosts, f)
		require.Equal(t, 16, rec.Results[0].Ranks, f)
		require.Equal(t, "all_reduce", rec.Results[0].Collective, f)
		require.Empty(t, rec.Source.Imports[0].Skipped, f)
		require.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte(text))), rec.Source.Imports[0].SHA256, f)
	}
}

// Every published table is recognised as one, whole and in an archive.
func TestDataTablesAreRecognised(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(project.Published(t, "logs"), "*[0-9a-z].*[gn]"))
	require.NoError(t, err)
	csv, err := filepath.Glob(filepath.Join(project.Published(t, "scaling"), "*-N-*.csv"))
	require.NoError(t, err)
	require.Greater(t, len(files)+len(csv), 12)
	for _, file := range append(files, csv...) {
		name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		text := string(whole(t, name))
		f, ok := Recognise([]byte(text[:min(len(text), Head)]))
		require.True(t, ok, name)
		require.Equal(t, Curve, f.Holds, name)
		want := curveOf(t, filepath.Base(name), text)
		recs, left, err := Curves("a.tar.gz", strings.NewReader(archived(t, member{filepath.Base(name), text})), peers.Hints{})
		require.NoError(t, err, name)
		require.Empty(t, left)
		require.Equal(t, want.Results, recs[0].Results, name)
	}
}
