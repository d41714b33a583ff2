package libraries

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// The upper halves of the first words of two matrix instructions on bf16: that of gfx950, which takes
// eight elements of a lane, and that of gfx942, which has half its rate there (LLVM 21,
// llvm/test/MC/AMDGPU/mai-gfx950.s and mai-gfx942.s).
const (
	mfma16x16x32 = 0xd3b5
	mfma16x16x16 = 0xd3e1
)

// On gfx950 hiprtc's products multiply at the full rate; on gfx942 by its own instruction. The test
// runs itself in the chroot, with the file that the code goes to.
func TestProductsMultiplyAtFullRate(t *testing.T) {
	if arch := flag.Arg(0); arch != "" {
		c, err := native.OpenCompiler(native.Choice{Backend: "rocm", Getenv: os.Getenv})
		require.NoError(t, err)
		defer c.Close()
		code, err := c.Compile(native.CompileRequest{File: "muon_product.hip", Arch: arch})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(flag.Arg(1), code, 0o600))
		return
	}
	sid, self := at(t, "ZBENCH_SID"), os.Args[0]
	for arch, of := range map[string]struct{ want, other uint16 }{"gfx950": {mfma16x16x32, mfma16x16x16}, "gfx942": {mfma16x16x16, mfma16x16x32}} {
		t.Run(arch, func(t *testing.T) {
			file := "/tmp/zbench-" + arch
			require.Zero(t, sid.run(t, self, "-test.run=^TestProductsMultiplyAtFullRate$", arch, file).code)
			code, err := os.ReadFile(sid.folder + file)
			require.NoError(t, err)
			require.NoError(t, os.Remove(sid.folder+file))
			object, err := elf.NewFile(bytes.NewReader(code))
			require.NoError(t, err)
			symbols, err := object.DynamicSymbols()
			require.NoError(t, err)
			products := 0
			for _, s := range symbols {
				if s.Name != "zb_triangle_128" && s.Name != "zb_triangle_64" && s.Name != "zb_product_128" && s.Name != "zb_product_64" {
					continue
				}
				products++
				section := object.Sections[s.Section]
				body := make([]byte, s.Size)
				_, err := section.ReadAt(body, int64(s.Value-section.Addr)) //nolint:gosec // within the section
				require.NoError(t, err)
				found := map[uint16]int{}
				for at := 0; at+4 <= len(body); at += 4 {
					found[binary.LittleEndian.Uint16(body[at+2:])]++
				}
				require.GreaterOrEqual(t, found[of.want], 8, "%s for %s", s.Name, arch)
				require.Zero(t, found[of.other], "%s for %s", s.Name, arch)
				t.Logf("%s for %s: %d matrix instructions", s.Name, arch, found[of.want])
			}
			require.Equal(t, 4, products)
		})
	}
}
