package native

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// lanes builds the product kernels as they are for a GPU, on instructions that
// the host runs lane by lane, and returns a launcher of them.
func lanes(t *testing.T, wave uint32, flags ...string) launcher {
	program := lanesProgram(t, flags...)
	return launcher{wave, func(name string, l Launch, args ...any) error {
		m, n, k := args[7].(int), args[8].(int), args[9].(int)
		size := func(rows, cols int) int { return int(l.Grid[1]) * rows * padded(cols) }
		var in bytes.Buffer
		var tile, triangle uint32
		if _, err := fmt.Sscanf(name[strings.LastIndex(name, "_"):], "_%d", &tile); err != nil {
			return err
		}
		if strings.HasPrefix(name, "zb_triangle") {
			triangle = 1
		}
		for _, v := range []any{
			tile, triangle, l.Grid[0], l.Grid[1], uint32(m), uint32(n), uint32(k), args[5], args[6],
			halfWords(args[2], size(m, k)), halfWords(args[3], size(n, k)), halfWords(args[4], size(m, n)),
		} {
			if err := binary.Write(&in, binary.LittleEndian, v); err != nil {
				return err
			}
		}
		cmd := exec.Command(program)
		cmd.Stdin, cmd.Stderr = &in, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return err
		}
		from := bytes.NewReader(out)
		if err := binary.Read(from, binary.LittleEndian, halfWords(args[0], size(m, n))); err != nil {
			return err
		}
		if triangle == 1 {
			return nil
		}
		if err := binary.Read(from, binary.LittleEndian, halfWords(args[1], size(n, m))); err != nil {
			return err
		}
		if from.Len() != 0 {
			return io.ErrShortWrite
		}
		return nil
	}}
}

func lanesProgram(t *testing.T, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "lanes")
	Compile(t, "", "c++", append(slices.Clip(flags), "-O2", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror", "-Wno-psabi",
		"testdata/lanes_test.cc", "-o", program)...)
	return program
}

// Blocks that are dealt to one die, every n-th, work on tiles that follow each
// other, and each tile is somebody's.
func TestToolchainDiesHaveNeighbouringTiles(t *testing.T) {
	Toolchain(t)
	for _, dies := range []int{1, 6} {
		program := lanesProgram(t, "-DZB_AMD=1", fmt.Sprintf("-DZB_DIES=%d", dies))
		for _, n := range []int{1, 5, 6, 7, 36, 101} {
			text, err := exec.Command(program, strconv.Itoa(n)).Output()
			require.NoError(t, err)
			var tiles, dealt []int
			for word := range strings.FieldsSeq(string(text)) {
				tile, err := strconv.Atoi(word)
				require.NoError(t, err)
				tiles = append(tiles, tile)
			}
			require.Len(t, tiles, n)
			for die := range dies {
				for b := die; b < n; b += dies {
					dealt = append(dealt, tiles[b])
				}
			}
			for i, tile := range dealt {
				require.Equal(t, i, tile, "%d blocks on %d dies: %v", n, dies, tiles)
			}
		}
	}
}

// halfWords is the memory behind an argument, nothing of a null pointer.
func halfWords(arg any, n int) []uint16 {
	p, ok := arg.(unsafe.Pointer)
	if !ok {
		return nil
	}
	return unsafe.Slice((*uint16)(p), n)
}

// What AMD's and NVIDIA's lanes load, give to the matrix instruction, and take
// from it: the device's own code, on a model of the instruction from its manual.
func TestToolchainMuonLanes(t *testing.T) {
	Toolchain(t)
	t.Parallel()
	for _, device := range []struct {
		name  string
		wave  uint32
		flags []string
	}{
		{"amd", 64, []string{"-DZB_AMD=1", "-DZB_DIES=8"}},
		{"amd, six dies", 64, []string{"-DZB_AMD=1", "-DZB_DIES=6"}},
		{"amd, 32 of the depth at once", 64, []string{"-DZB_AMD=1", "-DZB_MFMA_PARTS=1"}},
		{"nvidia", 32, []string{"-DZB_NVIDIA=1", "-DZB_WAVE=32"}},
	} {
		t.Run(device.name, func(t *testing.T) {
			run := lanes(t, device.wave, device.flags...)
			rng := rand.New(rand.NewPCG(7, 3))
			for _, tile := range tiles {
				for _, d := range []int{1, 63, 65, 129} {
					gram(rng, tile, 1, d, 1+rng.IntN(150)).check(t, run)
				}
				square(rng, tile, 2, 130).check(t, run)
				full(rng, tile, 2, 65, 1+rng.IntN(300), 97).check(t, run)
				full(rng, tile, 1, 190, 70, 33).check(t, run)
			}
		})
	}
}
