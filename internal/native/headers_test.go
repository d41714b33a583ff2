package native

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// headerSet is a vendor's headers, and what this version of them lacks of the
// list: a name that is neither there nor here is misspelt.
type headerSet struct {
	headers vendorHeaders
	// column is the library's in a row of the list, the name's is the next;
	// value is the name's in testdata/headers/values.txt and in an attribute.
	column, value int
	absent        []string
}

var headerSets = map[string]headerSet{
	"rocm": { // HIP 5.7, RCCL with NCCL's 2.13.4
		headers: vendorHeaders{"ZBENCH_ROCM_INCLUDE", "rocm.h"}, column: 3, value: 1,
		absent: []string{
			"hipDeviceAttributeNumberOfXccs", "ncclAlltoAll", "ncclCommDeregister", "ncclCommInitRankConfig", "ncclCommRegister", "ncclCommSplit",
			"ncclCommWindowDeregister", "ncclCommWindowRegister", "ncclFloat8e4m3", "ncclFloat8e5m2", "ncclInProgress", "ncclMemAlloc", "ncclMemFree", "rcclGetAlgoName", "rcclGetCollImplInfo",
		},
	},
	"rocm_7": { // HIP and RCCL 7.2.4, with NCCL's 2.27.7
		headers: vendorHeaders{"ZBENCH_ROCM7_INCLUDE", "rocm.h"}, column: 3, value: 1,
		absent: []string{"ncclAlltoAll", "rcclGetAlgoName", "rcclGetCollImplInfo"},
	},
	// A folder with HIP's headers and a newer rccl/rccl.h, which no package has; nothing sets this one.
	"rccl_2.30": {
		headers: vendorHeaders{"ZBENCH_RCCL_INCLUDE", "rocm.h"}, column: 3, value: 1,
		absent: []string{"hipDeviceAttributeNumberOfXccs", "rcclGetAlgoName", "rcclGetCollImplInfo"},
	},
	"cuda_11": { // CUDA 11.8, NCCL 2.22.3
		headers: vendorHeaders{"ZBENCH_CUDA11_INCLUDE", "cuda.h"}, column: 5, value: 2,
		absent: []string{
			"ncclAlltoAll", "ncclCommWindowDeregister", "ncclCommWindowRegister", "ncclFloat8e4m3", "ncclFloat8e5m2", "ncclGather", "ncclScatter",
		},
	},
	"cuda_12": { // CUDA 12.4, NCCL 2.28 or later
		headers: vendorHeaders{"ZBENCH_CUDA12_INCLUDE", "cuda.h"}, column: 5, value: 2,
	},
}

// Every row of the symbol list and every value is what the vendors' own headers
// say. `make system-test-headers` fetches them; without them there is nothing
// to hold the list against.
func TestHeaders(t *testing.T) {
	for name, set := range headerSets {
		t.Run(name, func(t *testing.T) {
			out, err := set.compile(t, set.headers.open(t), abiText(t))
			require.NoError(t, err, "%s", out)
		})
	}
}

// Without this the test above could pass whatever the list says.
func TestHeadersFindWrongRows(t *testing.T) {
	edits := map[string][2]string{
		"a narrower number":      {`SYM\(mallocDevice, (.*), size_t bytes\)`, `SYM(mallocDevice, $1, unsigned bytes)`},
		"another sign":           {`\(void \*\*stream, unsigned flags\)`, `(void **stream, int flags)`},
		"a pointer less":         {`SYM\(mallocDevice, (.*), \(void \*\*ptr`, `SYM(mallocDevice, $1, (void *ptr`},
		"a number for a pointer": {`\(int \*count\)`, `(int64_t count)`},
		"a wider result by reference": {
			`\(int \*value, int attribute, int device\)`, `(size_t *value, int attribute, int device)`,
		},
		"swapped enums":           {`int dtype, int op,`, `int op, int dtype,`},
		"a parameter too many":    {`\(void \*event\)`, `(void *event, unsigned flags)`},
		"a parameter left out":    {`(\(const void \*send, void \*recv, size_t count), int dtype`, `$1`},
		"another result":          {`SYM\(collErrorString, ZB_REQUIRED, const char \*`, `SYM(collErrorString, ZB_REQUIRED, int`},
		"a const too many":        {`\(void \*to, const void \*from`, `(const void *to, const void *from`},
		"an unknown function":     {`"(hip|cuda)StreamQuery"`, `"${1}StreamAsk"`},
		"a misspelt optional one": {`"ncclCommAbort"`, `"ncclCommAborted"`},
		"a wrong error":           {`ZB_ERR_NOT_READY = 600`, `ZB_ERR_NOT_READY = 34`},
		"a wrong flag":            {`ZB_STREAM_NON_BLOCKING = 1`, `ZB_STREAM_NON_BLOCKING = 2`},
		"directions swapped":      {`ZB_TO_DEVICE = 1, ZB_TO_HOST = 2`, `ZB_TO_DEVICE = 2, ZB_TO_HOST = 1`},
		"a wrong attribute":       {`ATTR\(warpSize, 87, 10\)`, `ATTR(warpSize, 86, 11)`},
		"a shorter unique id":     {`char internal\[128\]`, `char internal[127]`},
		"a value without a name":  {`ZB_OK = 0,`, `ZB_OK = 0, ZB_NEW = 1,`},
	}
	for name, set := range headerSets {
		t.Run(name, func(t *testing.T) {
			opened := set.headers.open(t)
			opened.precompile(t)
			for what, edit := range edits {
				t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
					out, err := set.compile(t, opened, edited(t, abiText(t), edit))
					require.Error(t, err, "%s", out)
					require.NotContains(t, out, "fatal error")
					t.Log(firstError(out, err))
				})
			}
		})
	}
}

// abiText is the list.
func abiText(t *testing.T) string {
	text, err := os.ReadFile("c/abi.h")
	require.NoError(t, err)
	return string(text)
}

// compile holds a text of abi.h against the headers. The error says what is
// missing, or the output has the compiler's.
func (h headerSet) compile(t *testing.T, headers *openHeaders, abi string) (string, error) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "abi.h"), []byte(abi), 0o600))
	checks, err := h.checks(t, dir, abi, headers.declared(t))
	if err != nil {
		return "", err
	}
	return headers.compile(t, "extern \"C\" {\n#include \"abi.h\"\n}\nZB_SYMBOLS(ZB_ARGS_OF)\n"+checks, "-I", dir)
}

// checks writes an assertion for each row and value that the headers declare.
func (h headerSet) checks(t *testing.T, dir, abi string, declared map[string]bool) (string, error) {
	var text strings.Builder
	var absent []string
	for _, row := range symbolRows(t, dir) {
		library, name := row[h.column], strings.Trim(row[h.column+1], `"`)
		if library == "ZB_NONE" || library == "ZB_LOOPBACK" {
			continue
		}
		if declared[name] {
			fmt.Fprintf(&text, "ZB_ROW_IS(%s, %s)\n", row[1], name)
			continue
		}
		absent = append(absent, name)
		if row[2] == "REQUIRED" {
			return "", fmt.Errorf("the headers have no %s, which is required", name)
		}
	}
	ours, err := ourValues(abi, h.value)
	if err != nil {
		return "", err
	}
	for _, v := range ours {
		if declared[v.name] {
			fmt.Fprintf(&text, "ZB_VALUE_IS(%s, %s)\n", v.expression, v.name)
		} else if v.name != "-" {
			absent = append(absent, v.name)
		}
	}
	slices.Sort(absent)
	if !slices.Equal(absent, h.absent) {
		return "", fmt.Errorf("the headers lack %q, of which %q was known", absent, h.absent)
	}
	return text.String(), nil
}
