// Package nvinfo reads what threads of NVIDIA's compiled kernels take.
package nvinfo

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Use is what one thread takes: registers, and bytes of memory of its own, which
// is where registers are spilled to.
type Use struct{ Registers, Frame int }

// Read returns what threads of the functions of a compiled file take, by name.
func Read(t testing.TB, code []byte) map[string]Use {
	code = slices.Clone(code)
	binary.LittleEndian.PutUint32(code[20:], 1) // the version that debug/elf wants, as internal/codeobject does
	file, err := elf.NewFile(bytes.NewReader(code))
	require.NoError(t, err)
	defer func() { _ = file.Close() }() // over memory
	return uses(file)
}

// Attributes of .nv.info, as cuobjdump --dump-elf names them.
const (
	formatSized = 4    // EIFMT_SVAL: a size and so many bytes
	attrFrame   = 0x11 // EIATTR_FRAME_SIZE: a symbol and bytes
	attrCount   = 0x2f // EIATTR_REGCOUNT: a symbol and registers
)

// uses reads .nv.info: entries of a format, an attribute, and two bytes that
// are the value or the size of what follows.
func uses(file *elf.File) map[string]Use {
	section := file.Section(".nv.info")
	if section == nil {
		return nil
	}
	info, _ := section.Data() // none is no uses
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
		// the first symbol is left out of the list
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
