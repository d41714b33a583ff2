package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// moreRows has the preprocessor write out c/shared/more.h: field and ROCm's name.
func moreRows(t *testing.T) [][2]string {
	rows := moreRowsOf(t, "ZBS_MORE")
	require.Greater(t, len(rows), 60)
	return rows
}

// moreRowsOf writes out one of its lists.
func moreRowsOf(t *testing.T, list string) (rows [][2]string) {
	out, err := compiler(t.TempDir(), `#include "c/shared/more.h"
#define ZB_OUT(field, need, ret, args, rl, rn, cl, cn, ...) @row field rn @end
`+list+"(ZB_OUT)\n", "-E", "-P", "-I", ".")
	require.NoError(t, err, "%s", out)
	for _, m := range regexp.MustCompile(`@row (\w+) ([^@]+) @end`).FindAllStringSubmatch(strings.Join(strings.Fields(out), " "), -1) {
		rows = append(rows, [2]string{m[1], strings.NewReplacer(`"`, "", " ", "").Replace(m[2])})
	}
	return rows
}

// newerThanDebian are functions that HIP 5.7 has not, or declares nowhere: the compiler's own,
// and those of both forms of the properties. Those that NCCL 2.13 has not are in newer.txt.
var newerThanDebian = []string{
	"__hipRegisterFatBinary", "__hipRegisterFunction", "__hipRegisterManagedVar", "__hipRegisterVar",
	"__hipUnregisterFatBinary", "hipChooseDeviceR0600", "hipExtHostAlloc", "hipGetDevicePropertiesR0000", "hipGetDevicePropertiesR0600",
}

// goneSince are functions that Debian's RCCL has and 2.30 no longer.
var goneSince = []string{"ncclCommInitRankMulti"}

// overloaded are functions that the headers have C++ forms of, besides: they have no one
// address.
var overloaded = []string{
	"hipGetSymbolAddress", "hipGetSymbolSize", "hipLaunchCooperativeKernel", "hipMallocAsync", "hipMallocFromPoolAsync",
	"hipMemcpyFromSymbol", "hipMemcpyFromSymbolAsync", "hipMemcpyToSymbol", "hipMemcpyToSymbolAsync",
	"hipOccupancyMaxActiveBlocksPerMultiprocessor", "hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "hipOccupancyMaxPotentialBlockSize",
}

// Every function that the shared libraries have beside those that zbench calls is what the
// vendor's headers declare. Arguments of a function that is refused by name do not matter.
func TestHeadersOfSharedLibraries(t *testing.T) {
	refused := moreRowsOf(t, "ZBS_MORE_REFUSED")
	for _, name := range []string{"rocm", "rccl_2.30"} {
		t.Run(name, func(t *testing.T) {
			headers := headerSets[name].headers.open(t)
			known := headers.declared(t)
			var checks strings.Builder
			var absent []string
			for _, row := range moreRows(t) {
				switch {
				case slices.Contains(overloaded, row[1]):
				case !known[row[1]]:
					absent = append(absent, row[1])
				case !slices.Contains(refused, row):
					fmt.Fprintf(&checks, "ZB_ROW_IS(%s, %s)\n", row[0], row[1])
				}
			}
			t.Logf("%d rows held", strings.Count(checks.String(), "\n"))
			slices.Sort(absent)
			newer := newerNames(t)
			if name == "rocm" {
				require.NotSubset(t, absent, goneSince)
			}
			require.Equal(t, newerThanDebian, slices.DeleteFunc(absent, func(name string) bool {
				return slices.Contains(newer, name) || slices.Contains(goneSince, name)
			}))
			out, err := headers.compile(t, sharedTable+checks.String(), "-I", ".")
			require.NoError(t, err, "%s", out)
		})
	}
}

// sharedTable is c/shared/more.h as a table, and the names of its parameters of each of the vendor's enums.
const sharedTable = `extern "C" {
#include "c/shared/more.h"
}
#define zb_table zbs_table
#define ZB_FIELD(field, need, ret, args, ...) ret(*field) args;
struct zbs_table { ZBS_MORE(ZB_FIELD) };
template <> constexpr std::string_view zb::called<hipStreamCaptureStatus> = "status";
template <> constexpr std::string_view zb::called<hipPointer_attribute> = "fact";
template <> constexpr std::string_view zb::called<hipMemPoolAttr> = "about";
template <> constexpr std::string_view zb::called<hipMemAccessFlags> = "access";
template <> constexpr std::string_view zb::called<hipDeviceP2PAttr> = "link";
template <> constexpr std::string_view zb::called<hipLimit_t> = "limit";
template <> constexpr std::string_view zb::called<hipFuncAttribute> = "attribute";
template <> constexpr std::string_view zb::called<hipFuncCache_t> = "config";
template <> constexpr std::string_view zb::called<hipSharedMemConfig> = "config";
template <> constexpr std::string_view zb::called<hipJitOption> = "option";
template <> constexpr std::string_view zb::called<hipMemoryAdvise> = "advice";
#ifdef NCCL_WIN_COLL_SYMMETRIC
template <> constexpr std::string_view zb::called<ncclCommMemStat_t> = "what";
#endif
ZBS_MORE(ZB_ARGS_OF)
`

// Every member of the older form of the properties lies where the headers have it.
func TestHeadersOfProperties(t *testing.T) {
	folder := headerFolder(t, headerSets["rocm"].headers.variable)
	text, err := os.ReadFile("c/shared/properties.h")
	require.NoError(t, err)
	_, old, found := strings.Cut(string(text), "typedef struct zbs_properties_0000 {")
	require.True(t, found)
	old, _, _ = strings.Cut(old, "} zbs_properties_0000;")
	var checks strings.Builder
	n := 0
	for _, m := range regexp.MustCompile(`(?m)[ *](\w+)(?:\[\d+\])?[,;]`).FindAllStringSubmatch(old, -1) {
		fmt.Fprintf(&checks, "static_assert(offsetof(zbs_properties_0000, %[1]s) == offsetof(hipDeviceProp_t, %[1]s), %[1]q);\n", m[1])
		n++
	}
	require.Equal(t, 55, n)
	out, err := compiler(t.TempDir(), fmt.Sprintf(`#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <cstddef>
#include "c/shared/properties.h"
static_assert(sizeof(zbs_properties_0000) == sizeof(hipDeviceProp_t), "size");
%s`, checks.String()), "-std=c++17", "-idirafter", folder, "-I", ".", "-fsyntax-only")
	require.NoError(t, err, "%s", out)
}

// The configuration of a communicator lies where the newest headers have it, and tells them that it is one.
func TestHeadersOfConfiguration(t *testing.T) {
	text, err := os.ReadFile("c/shim.h")
	require.NoError(t, err)
	ours := regexp.MustCompile(`(?s)typedef struct zb_config \{.*?\} zb_config;.*?return \(zb_config\)\{sizeof\(zb_config\), (\w+),`).FindStringSubmatch(string(text))
	require.NotNil(t, ours)
	declaration, _, _ := strings.Cut(ours[0], "static inline")
	for _, name := range []string{"cuda_12", "rccl_2.30"} {
		t.Run(name, func(t *testing.T) {
			headers := headerSets[name].headers.open(t)
			checks := declaration + "static_assert(NCCL_API_MAGIC == " + ours[1] + ");\n"
			for _, member := range []string{
				"size size", "magic magic", "version version", "blocking blocking", "cluster cgaClusterSize", "least minCTAs", "most maxCTAs",
				"net netName", "share splitShare", "traffic trafficClass", "name commName", "collnet collnetEnable", "policy CTAPolicy",
				"shrink shrinkShare", "nvls nvlsCTAs",
			} {
				mine, theirs, _ := strings.Cut(member, " ")
				checks += fmt.Sprintf("static_assert(offsetof(zb_config, %[1]s) == offsetof(ncclConfig_t, %[2]s) && sizeof(zb_config::%[1]s) == sizeof(ncclConfig_t::%[2]s), %[2]q);\n", mine, theirs)
			}
			out, err := headers.compile(t, "#include <cstddef>\n"+checks)
			require.NoError(t, err, "%s", out)
			out, err = headers.compile(t, "#include <cstddef>\n"+strings.Replace(checks, "int collnet, policy,", "int policy, collnet,", 1))
			require.Error(t, err)
			require.Contains(t, out, "CTAPolicy")
		})
	}
}

// The newer form's size and places, as HIP 6.3 has them (ROCm/HIP, include/hip/hip_runtime_api.h).
func TestPropertiesOfHIP6(t *testing.T) {
	out, err := compiler(t.TempDir(), `#include <cstddef>
#include "c/shared/properties.h"
#define AT(member, offset) static_assert(offsetof(zbs_properties_0600, member) == offset, #member);
static_assert(sizeof(zbs_properties_0600) == 1472, "size");
AT(totalGlobalMem, 288) AT(warpSize, 308) AT(multiProcessorCount, 388) AT(gcnArchName, 1160)
`, "-std=c++17", "-I", ".", "-fsyntax-only")
	require.NoError(t, err, "%s", out)
}

// Every function that NCCL 2.22.3 declares is there, as the version that is reported says.
func TestHeadersOfReportedVersion(t *testing.T) {
	folder := headerFolder(t, headerSets["cuda_11"].headers.variable)
	text, err := os.ReadFile(filepath.Join(folder, "nccl.h"))
	require.NoError(t, err)
	require.Contains(t, string(text), "#define NCCL_VERSION_CODE 22203")
	have := sharedNames(t)
	names := regexp.MustCompile(`(?m)^(?:ncclResult_t|const char\*) +(nccl\w+)\(`).FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(names), 30)
	for _, m := range names {
		require.True(t, have[m[1]], "NCCL 2.22.3 has %s", m[1])
	}
}

// Every function that newer versions have is there: it works, or says that the loopback does not have it.
func TestNamesOfNewerVersions(t *testing.T) {
	have := sharedNames(t)
	for _, name := range newerNames(t) {
		require.True(t, have[name], name)
	}
}

// What the loopback takes is what newer headers declare: as many arguments, each of the same kind. Those of a function that is
// refused by name do not matter.
func TestSignaturesOfNewerVersions(t *testing.T) {
	out, err := compiler(t.TempDir(), `#include "c/shared/more.h"
#undef ZB_OPTIONAL
#define ZB_OPTIONAL(...) OPTIONAL
#define ZB_OUT(field, need, ret, args, rl, rn, cl, cn, ...) @row rn cn : args @end
#define ZB_EXPAND(...) ZB_OUT(__VA_ARGS__)
#define ZB_ROW(...) ZB_EXPAND(__VA_ARGS__)
ZBS_MORE(ZB_OUT)
ZB_SYMBOLS(ZB_ROW)
`, "-E", "-P", "-I", ".")
	require.NoError(t, err, "%s", out)
	have := map[string]string{}
	for _, m := range regexp.MustCompile(`@row ([^@:]+) : \(([^@]*)\) @end`).FindAllStringSubmatch(strings.Join(strings.Fields(out), " "), -1) {
		for name := range strings.FieldsSeq(m[1]) {
			have[strings.Trim(name, `"`)] = letters(m[2])
		}
	}
	text, err := os.ReadFile("testdata/headers/newer.txt")
	require.NoError(t, err)
	held := 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[0] == "#" || len(words) < 2 || have[words[0]] == "" && words[1] != "-" {
			continue // a function that is refused has no arguments
		}
		require.Equal(t, strings.Trim(words[1], "-"), have[words[0]], words[0])
		held++
	}
	require.Greater(t, held, 45)
}

// letters are those of newer.txt for the arguments of a function.
func letters(args string) (kinds string) {
	for arg := range strings.SplitSeq(args, ",") {
		switch {
		case strings.ContainsAny(arg, "*["):
			kinds += "p"
		case strings.Contains(arg, "size_t"):
			kinds += "z"
		case strings.Contains(arg, "zb_unique_id"):
			kinds += "u"
		case strings.TrimSpace(arg) != "void":
			kinds += "i"
		}
	}
	return kinds
}

// newerNames are the functions that newer versions have.
func newerNames(t *testing.T) (names []string) {
	text, err := os.ReadFile("testdata/headers/newer.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] != "#" {
			names = append(names, words[0])
		}
	}
	require.Greater(t, len(names), 70)
	return names
}

// sharedNames are the functions of RCCL's shared library.
func sharedNames(t *testing.T) map[string]bool {
	have := map[string]bool{}
	for _, row := range moreRows(t) {
		have[row[1]] = true
	}
	for _, row := range symbolRows(t, "c") {
		have[strings.Trim(row[3], `"`)], have[strings.Trim(row[4], `"`)] = true, true
	}
	return have
}

// The versions of HIP's symbols name every function of HIP's, once.
func TestSymbolVersions(t *testing.T) {
	text, err := os.ReadFile("c/shared/hip.map")
	require.NoError(t, err)
	var want []string
	for _, row := range moreRows(t) {
		want = append(want, row[1])
	}
	for _, row := range symbolRows(t, "c") {
		if row[3] == "ZB_RUNTIME" {
			want = append(want, strings.Trim(row[4], `"`))
		}
	}
	want = slices.DeleteFunc(want, func(name string) bool { return !strings.Contains(name, "hip") })
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^ +((?:__)?hip\w+);`).FindAllStringSubmatch(string(text), -1) {
		got = append(got, m[1])
	}
	require.ElementsMatch(t, want, got)
}

// The client compiles against the vendor's headers, in C and in C++, as it does against
// its own declarations.
func TestHeadersOfClient(t *testing.T) {
	folder := headerFolder(t, headerSets["rocm"].headers.variable)
	for _, language := range []string{"c", "c++"} {
		out, err := exec.Command("cc", "-x", language, "-DREAL_HEADERS", "-D_GNU_SOURCE", "-idirafter", folder, "-fsyntax-only", "testdata/client_test.c").CombinedOutput() //nolint:gosec // a test's own arguments
		require.NoError(t, err, "%s: %s", language, out)
	}
}
