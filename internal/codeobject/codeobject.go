// Package codeobject reads the output of a run-time compiler: the target GPU and the kernels. AMD's
// output is an ELF file, either bare or in clang's offload bundle. NVIDIA's cubin is also an ELF
// file.
package codeobject

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Machine types in the ELF header.
const (
	machineAMD    = 224 // EM_AMDGPU
	machineNVIDIA = 190 // EM_CUDA
)

// Object is a compiled code object.
type Object struct {
	// Target is the architecture in the header's flags, such as gfx942 or sm_90; empty if unknown.
	Target string
	// Kernels are the names of the launchable functions, sorted.
	Kernels []string
}

// targets are the EF_AMDGPU_MACH values of training GPUs (LLVM's AMDGPU guide, "ELF header").
var targets = map[uint32]string{
	0x2f: "gfx906", 0x30: "gfx908", 0x3f: "gfx90a", 0x40: "gfx940", 0x4b: "gfx941", 0x4c: "gfx942", 0x4f: "gfx950",
	0x41: "gfx1100", 0x48: "gfx1200", 0x4e: "gfx1201",
}

// Read reads a code object, or the first code object for a GPU in a bundle.
func Read(code []byte) (Object, error) {
	if bytes.HasPrefix(code, []byte(bundleMagic)) {
		entry, err := unbundle(code)
		if err != nil {
			return Object{}, err
		}
		code = entry
	}
	if len(code) < 64 {
		return Object{}, fmt.Errorf("code object: %d bytes are no ELF file", len(code))
	}
	flags := binary.LittleEndian.Uint32(code[48:]) // e_flags of a 64-bit ELF header
	if binary.LittleEndian.Uint16(code[18:]) == machineNVIDIA {
		// CUDA writes the toolkit's version here (118 for 11.8); ELF requires 1
		code = slices.Clone(code)
		binary.LittleEndian.PutUint32(code[20:], 1)
	}
	file, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return Object{}, fmt.Errorf("code object: %w", err)
	}
	defer func() { _ = file.Close() }() // the file is memory, so closing cannot fail
	switch file.Machine {
	case machineAMD:
		return Object{Target: targets[flags&0xff], Kernels: amdKernels(file)}, nil
	case machineNVIDIA:
		return Object{Target: fmt.Sprintf("sm_%d", flags&0xff), Kernels: nvidiaKernels(file)}, nil
	default:
		return Object{}, fmt.Errorf("code object: for machine %d, which is no GPU", file.Machine)
	}
}

// amdKernels returns the names of the kernels. Each kernel has a descriptor named NAME.kd.
func amdKernels(file *elf.File) []string {
	symbols, _ := file.DynamicSymbols() // without symbols there are no kernels
	var names []string
	for _, s := range symbols {
		if name, found := strings.CutSuffix(s.Name, ".kd"); found && s.Section != elf.SHN_UNDEF {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// nvidiaKernels returns the names of the kernels. Each kernel has a section, but so has each
// function that was not inlined. Only a kernel's symbol is marked as an entry point
// (STO_CUDA_ENTRY).
func nvidiaKernels(file *elf.File) []string {
	symbols, _ := file.Symbols() // without symbols there are no kernels
	var names []string
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Other&0x10 != 0 && file.Section(".text."+s.Name) != nil {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

const bundleMagic = "__CLANG_OFFLOAD_BUNDLE__"

// unbundle finds the first entry for a GPU. A bundle has a magic text, the number of entries, and
// then for each entry its offset, its size, and the length and text of its target (clang's
// ClangOffloadBundler manual).
func unbundle(code []byte) ([]byte, error) {
	at := len(bundleMagic)
	number := func() uint64 { // returns 0 beyond the end, which is no valid count or target
		if at+8 > len(code) {
			at = len(code)
			return 0
		}
		at += 8
		return binary.LittleEndian.Uint64(code[at-8:])
	}
	for range number() {
		offset, size, length := number(), number(), number()
		if length == 0 || length > uint64(len(code)-at) {
			break
		}
		target := string(code[at : at+int(length)]) //nolint:gosec // it is at most len(code)
		at += len(target)
		if strings.HasPrefix(target, "host") {
			continue
		}
		if offset > uint64(len(code)) || size > uint64(len(code))-offset {
			return nil, fmt.Errorf("code object: the bundle's entry %s ends behind its end", target)
		}
		return code[offset : offset+size], nil
	}
	return nil, errors.New("code object: the bundle has no entry for a GPU")
}
