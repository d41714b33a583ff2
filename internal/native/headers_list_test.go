package native

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
)

// symbolRows has the preprocessor write out the list and the other names of its
// rows: field, need, and library and name of both vendors.
func symbolRows(t *testing.T, dir string) [][]string {
	out, err := compiler(t.TempDir(), `#include "abi.h"
#undef ZB_REQUIRED
#undef ZB_OPTIONAL
#undef NULL
#define ZB_REQUIRED REQUIRED
#define ZB_OPTIONAL(...) OPTIONAL
#define NULL none
#define ZB_OUT(field, need, ret, args, rl, rn, cl, cn, ...) @row field need rl rn cl cn @end
#define ZB_OUT_EXPAND(...) ZB_OUT(__VA_ARGS__)
#define ZB_OUT_ROW(...) ZB_OUT_EXPAND(__VA_ARGS__)
ZB_SYMBOLS(ZB_OUT_ROW)
#define ZB_OTHER(field, ...) ZB_OUT_EXPAND(field, OPTIONAL, ret, args, __VA_ARGS__)
ZB_OTHER_NAMES(ZB_OTHER)
`, "-E", "-P", "-I", dir)
	require.NoError(t, err, "%s", out)
	rows := regexp.MustCompile(`@row (\w+) (\w+) (\w+) (\S+) (\w+) (\S+) @end`).FindAllStringSubmatch(
		strings.Join(strings.Fields(out), " "), -1)
	require.Greater(t, len(rows), len(Symbols()), "the rows and their other names")
	return rows
}

// ourValue is an expression of ours and what a vendor calls it.
type ourValue struct{ expression, name string }

// notTheirs are values of c/abi.h that no vendor knows.
var notTheirs = []string{
	"ZB_OPTIONAL", "ZB_REQUIRED", "ZB_NONE", "ZB_RUNTIME", "ZB_COLLECTIVES", "ZB_COMPILER", "ZB_DRIVER",
	"ZB_LOOPBACK", "ZB_LIBRARIES", "ZB_SHARED_UNASKED",
}

// ourValues reads testdata/headers/values.txt and fails for a value that is not
// in it.
func ourValues(abi string, column int) ([]ourValue, error) {
	text, err := os.ReadFile("testdata/headers/values.txt")
	if err != nil {
		return nil, err
	}
	known := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		row := strings.Fields(line)
		if len(row) == 0 || row[0] == "#" {
			continue
		}
		if len(row) != 3 {
			return nil, fmt.Errorf("values.txt: %q is not three words", line)
		}
		known[row[0]] = append(known[row[0]], row[column])
	}
	var list []ourValue
	for _, ours := range numbers(abi, column) {
		names := known[ours.name]
		if len(names) == 0 {
			return nil, fmt.Errorf("%s: values.txt does not say what it is called", ours.name)
		}
		for _, name := range names {
			list = append(list, ourValue{ours.expression, name})
		}
	}
	return list, nil
}

// numbers lists what must be in values.txt, with its value in this column.
func numbers(abi string, column int) []ourValue {
	var list []ourValue
	values := regexp.MustCompile(`enum \{[^}]*ZB_VENDORS[^}]*\}`).ReplaceAllString(abi, "") // the columns are ours
	for _, m := range regexp.MustCompile(`\b(ZB_[A-Z_]+) = `).FindAllStringSubmatch(values, -1) {
		if !slices.Contains(notTheirs, m[1]) {
			list = append(list, ourValue{m[1], m[1]})
		}
	}
	for _, m := range regexp.MustCompile(`ATTR\((\w+), (\d+), (\d+)[,)]`).FindAllStringSubmatch(abi, -1) {
		list = append(list, ourValue{m[1+column], "attribute:" + m[1]})
	}
	// The position in the table is the number that the driver passes on.
	for i, d := range collective.Dtypes() {
		list = append(list, ourValue{strconv.Itoa(i), "dtype:" + d.Name})
	}
	for i, o := range collective.Ops() {
		list = append(list, ourValue{strconv.Itoa(i), "op:" + o.Name})
	}
	return list
}
