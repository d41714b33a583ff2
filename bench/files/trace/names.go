package trace

import (
	"strings"

	"zbench/bench/hardware/collective"
)

// The table others maps names of collectives in PyTorch, NCCL and Chakra to zbench's names. It
// lists the names that differ in more than separators.
var others = map[string]string{
	"allgatherbase": "all_gather", "allgatherintotensor": "all_gather", "allgatherintotensorcoalesced": "all_gather",
	"allgathercoalesced": "all_gather", "allgatherintotensorout": "all_gather", "allgatherv": "all_gather",
	"reducescatterbase": "reduce_scatter", "reducescattertensor": "reduce_scatter", "reducescattertensorcoalesced": "reduce_scatter",
	"reducescatterblock": "reduce_scatter", "reducescatterv": "reduce_scatter",
	"allreducecoalesced": "all_reduce", "allreducesparse": "all_reduce", "broadcastoop": "broadcast", "reduceoop": "reduce", "alltoallv": "all_to_all", "alltoallbase": "all_to_all", "alltoallsingle": "all_to_all",
	"send": "send_recv", "recv": "send_recv", "isend": "send_recv", "irecv": "send_recv",
}

// unequal are the collectives in which ranks may send different sizes.
var unequal = map[string]bool{"all_to_all": true}

// waits are names of records that are not calls of collectives.
var waits = map[string]bool{"wait": true, "init": true, "barrierwait": true, "": true}

// IsCall reports whether a record's name is a collective's name.
func IsCall(name string) bool { return !waits[plainName(name)] }

// Named returns zbench's name of a collective from the spelling of any tool. If zbench has no such
// collective, as for a barrier, it returns the tool's name and false.
func Named(name string) (string, bool) {
	p := plainName(name)
	if c := others[p]; c != "" { // every call with splits is named alltoallv, even if its splits are equal
		return c, true
	}
	for _, spelling := range []string{name, p} {
		if c, err := collective.ByName(spelling); err == nil {
			return c.Name, true
		}
	}
	return name, false
}

func plainName(name string) string {
	name = strings.ToLower(name[strings.LastIndexByte(name, ':')+1:]) // the name follows c10d:: or a backend
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, name)
}

// types maps PyTorch's names of element types to zbench's names.
var types = map[string]string{
	"char": "int8", "byte": "uint8", "bool": "uint8", "unsigned char": "uint8", "signed char": "int8", "int": "int32", "long": "int64", "long int": "int64",
	"short": "half", "c10::half": "half", "c10::bfloat16": "bfloat16", "c10::float8_e4m3fn": "f8e4m3", "c10::float8_e4m3fnuz": "f8e4m3",
	"c10::float8_e5m2": "f8e5m2", "c10::float8_e5m2fnuz": "f8e5m2", "float8_e4m3fn": "f8e4m3", "float8_e4m3fnuz": "f8e4m3",
	"float8_e5m2": "f8e5m2", "float8_e5m2fnuz": "f8e5m2",
}

// TypeOf returns rccl-tests' name of an element type from the spelling of any tool, or empty text
// if there is none. A bool counts as uint8, because it is sent as uint8. A 16-bit integer counts as
// half, which has the same width.
func TypeOf(name string) string {
	name = strings.ToLower(name)
	if t := types[name]; t != "" {
		return t
	}
	if d, err := collective.DtypeByName(name); err == nil {
		return d.Name
	}
	return ""
}

// ncclTypes and ncclOps are in the order of their numbers in nccl.h (ncclDataType_t, ncclRedOp_t).
var (
	ncclTypes = []string{"int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"}
	ncclOps   = []string{"sum", "prod", "max", "min", "avg"}
)

// TypeNumbered returns the element type with a number in ncclDataType_t, or empty text if there is
// none.
func TypeNumbered(n int) string { return at(ncclTypes, n) }

// OpNumbered returns the operator with a number in ncclRedOp_t, or empty text if there is none.
func OpNumbered(n int) string { return at(ncclOps, n) }

func at(list []string, i int) string {
	if i < 0 || i >= len(list) {
		return ""
	}
	return list[i]
}

// libraries lists texts in kernel names that identify libraries which communicate without NCCL or
// RCCL.
var libraries = []struct{ mark, name string }{
	{"deep_ep::", "DeepEP"},
	{"::ep::internode::", "DeepEP"},
	{"::ep::intranode::", "DeepEP"},
	{"mori", "MORI"},
	{"nvshmem", "NVSHMEM"},
	{"rocshmem", "rocSHMEM"},
	{"cross_device_reduce", "vLLM's custom all-reduce"},
	{"flashinfer::trtllm_allreduce", "FlashInfer"},
	{"multimem_", "PyTorch's symmetric memory"},
	{"one_shot_all_reduce", "PyTorch's symmetric memory"},
	{"two_shot_all_reduce", "PyTorch's symmetric memory"},
	{"mscclpp", "MSCCL++"},
}

// LibraryOf returns the library of a kernel that communicates without NCCL or RCCL. It returns
// empty text for all other kernels.
func LibraryOf(kernel string) string {
	for _, l := range libraries {
		if strings.Contains(kernel, l.mark) {
			return l.name
		}
	}
	return ""
}

// kernels maps the words for collectives in the names of NCCL's kernels to zbench's names.
var kernels = []struct{ word, name string }{
	{"AllReduce", "all_reduce"},
	{"ReduceScatter", "reduce_scatter"},
	{"AllGather", "all_gather"},
	{"Broadcast", "broadcast"},
	{"SendRecv", "send_recv"},
	{"Reduce", "reduce"},
}

// OfKernel reports whether a kernel belongs to NCCL or RCCL, and returns the collective in its
// name. The name is empty for RCCL's generic kernels.
func OfKernel(kernel string) (name string, is bool) {
	kernel = strings.TrimPrefix(kernel, "void ")
	if !strings.HasPrefix(kernel, "nccl") && !strings.HasPrefix(kernel, "rccl") && !strings.HasPrefix(kernel, "mscclKernel") {
		return "", false
	}
	for _, k := range kernels {
		if strings.Contains(kernel, k.word) {
			return k.name, true
		}
	}
	return "", true
}
