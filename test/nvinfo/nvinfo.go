// Package nvinfo reads the resources that a thread of a kernel compiled for NVIDIA's GPUs needs.
package nvinfo

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Use is what one thread needs: registers, and bytes of local memory, to which registers are
// spilled.
type Use struct{ Registers, Frame int }

// Read returns the resources per thread of each function in a compiled file.
func Read(t testing.TB, code []byte) map[string]Use {
	code = slices.Clone(code)
	binary.LittleEndian.PutUint32(code[20:], 1) // the version that debug/elf expects, as in internal/codeobject
	file, err := elf.NewFile(bytes.NewReader(code))
	require.NoError(t, err)
	defer func() { _ = file.Close() }() // the file is in memory
	return uses(file)
}

// Attributes of .nv.info, with the names of cuobjdump --dump-elf.
const (
	formatSized = 4    // EIFMT_SVAL: a size, then that number of bytes
	attrFrame   = 0x11 // EIATTR_FRAME_SIZE: a symbol and a number of bytes
	attrCount   = 0x2f // EIATTR_REGCOUNT: a symbol and a number of registers
)

// uses reads .nv.info. An entry has a format, an attribute, and two bytes that are either the value
// or the size of the value behind them.
func uses(file *elf.File) map[string]Use {
	section := file.Section(".nv.info")
	if section == nil {
		return nil
	}
	info, _ := section.Data() // without data there are no uses
	symbols, _ := file.Symbols()
	uses := map[string]Use{}
	for len(info) >= 4 {
		format, attribute, size := info[0], info[1], int(binary.LittleEndian.Uint16(info[2:]))
		if info = info[4:]; format != formatSized {
			continue
		}
		if size > len(info) {
			break
		}
		value := info[:size]
		info = info[size:]
		if size != 8 {
			continue
		}
		// debug/elf omits the first symbol
		symbol, n := int(binary.LittleEndian.Uint32(value))-1, int(binary.LittleEndian.Uint32(value[4:]))
		if symbol < 0 || symbol >= len(symbols) {
			continue
		}
		use := uses[symbols[symbol].Name]
		switch attribute {
		case attrFrame:
			use.Frame = n
		case attrCount:
			use.Registers = n
		default:
			continue
		}
		uses[symbols[symbol].Name] = use
	}
	return uses
}
