package hbm

import (
	"encoding/binary"
	"fmt"
	"math"

	"zbench/bench/run/record"
	"zbench/internal/native"
)

// checkLaunch returns the geometry of the kernels that fill and check n elements.
func checkLaunch(elements int64) native.Launch {
	blocks := min(max(1, elements/(4*native.KernelBlock)), 2048)
	return native.Launch{Grid: [3]uint32{uint32(blocks), 1, 1}, Block: [3]uint32{native.KernelBlock, 1, 1}} //nolint:gosec // at most 2,048
}

func (d *Driver) launch(u *unit, file, name string, l native.Launch, args ...any) error {
	f, err := u.modules[file].Function(name)
	if err != nil {
		return err
	}
	return d.p.Launch(u.stream, f, l, args...)
}

// wait polls a device until its stream is done.
func (d *Driver) wait(u *unit) error {
	for {
		done, err := d.p.Done(u.stream)
		if done || err != nil {
			return err
		}
	}
}

func flag(on bool) int32 {
	if on {
		return 1
	}
	return 0
}

// fill makes the inputs, unless they exist. An element depends only on its index, so a smaller
// array is the beginning of a larger one. The output becomes NaN, so that a missing element is
// found.
func (c Case) fill(d *Driver, u *unit, steps []native.Step) error {
	name := fmt.Sprintf("%s zeros %t", c.Type.Name, c.Zeros)
	n := d.array / c.Type.Bytes
	array := func(k int, zeros bool) error {
		return d.launch(u, dataFile, "zb_data_fill_"+c.Type.short, checkLaunch(n), d.at(u, k), uint64(n), int32(k), d.cfg.Seed, flag(zeros)) //nolint:gosec // not negative
	}
	for k := range 2 {
		if u.filled == name {
			break
		}
		if err := array(k, c.Zeros); err != nil {
			return err
		}
	}
	// The fill kernel touches the output first, so that each CPU gets its own part of the memory
	// nearby.
	if u.filled == "" {
		if err := array(2, true); err != nil {
			return err
		}
	}
	if err := d.launch(u, checkFile, "zb_poison", checkLaunch(c.Array), d.at(u, 2), uint64(c.Array), ^uint32(0)); err != nil { //nolint:gosec // not negative
		return err
	}
	if err := d.clearSums(u, u.parts(steps[0].Launch)); err != nil {
		return err
	}
	u.filled = name
	return d.wait(u)
}

// clearSums zeroes the sums of the given number of blocks. The host runs a launch in fewer parts
// than blocks; the words that it leaves must not count.
func (d *Driver) clearSums(u *unit, blocks int64) error {
	return d.launch(u, checkFile, "zb_poison", checkLaunch(8*blocks), u.sums, uint64(8*blocks), uint32(0)) //nolint:gosec // not negative
}

// parts returns the number of sums that a launch may write: one per block, or one per CPU.
func (u *unit) parts(l native.Launch) int64 {
	if u.info.Kind == record.HostMemory {
		return int64(max(u.info.Units, int(l.Grid[0])))
	}
	return int64(l.Grid[0])
}

// lanes returns the number of threads that share the additions of a launch.
func (u *unit) lanes(l native.Launch) int64 {
	switch u.info.Kind {
	case record.HostMemory:
		return int64(u.info.Units)
	case record.Checked: // emulated threads run in turn
		return 1
	}
	return int64(l.Grid[0]) * int64(l.Block[0])
}

// verify checks every element of the last launch's result on the device.
func (c Case) verify(d *Driver, u *unit, steps []native.Step) (record.Verified, error) {
	if c.Stream.sums() {
		return d.verifySum(u, c, steps[0])
	}
	n, fill := c.elements(), scalar
	if c.Zeros {
		fill = 0
	}
	found := make([]byte, 24)
	binary.LittleEndian.PutUint64(found[8:], math.MaxUint64)
	at := native.Address{Buffer: u.found}
	if err := d.p.Write(at, found); err != nil {
		return record.Verified{}, err
	}
	if err := d.launch(u, dataFile, "zb_data_check_"+c.Type.short, checkLaunch(n),
		int32(c.Stream.op), d.at(u, 2), uint64(n), fill, d.cfg.Seed, flag(c.Zeros), u.found); err != nil { //nolint:gosec // not negative
		return record.Verified{}, err
	}
	if err := d.wait(u); err != nil {
		return record.Verified{}, err
	}
	if err := d.p.Read(at, found); err != nil {
		return record.Verified{}, err
	}
	wrong, first, seen := binary.LittleEndian.Uint64(found), binary.LittleEndian.Uint64(found[8:]), binary.LittleEndian.Uint64(found[16:])
	if int64(seen) != n { //nolint:gosec // a count
		return record.Verified{}, fmt.Errorf("hbm: the check read %d of %d elements", seen, n)
	}
	v := verified(n, int64(wrong)) //nolint:gosec // a count
	if wrong > 0 {
		got := make([]byte, 8)
		place := d.at(u, 2)
		place.Offset += int64(first) * c.Type.Bytes //nolint:gosec // an index
		if err := d.p.Read(place, got[:c.Type.Bytes]); err != nil {
			return v, err
		}
		v.First = &record.WrongElement{
			Index:    int64(first), //nolint:gosec // an index
			Expected: native.ElementString(c.Type.code, encode(c.Type, want(c.Stream, c.Type, d.cfg.Seed, c.Zeros, first))),
			Got:      native.ElementString(c.Type.code, binary.LittleEndian.Uint64(got)),
		}
	}
	return v, nil
}

// verified returns the result of a check from the numbers of checked and of wrong elements.
func verified(elements, wrong int64) record.Verified {
	v := record.Verified{State: record.VerifiedOK, Elements: elements, Wrong: &wrong, Launches: 1}
	if wrong > 0 {
		v.State = record.VerifiedWrong
	}
	return v
}

// verifySum compares the sum of the last launch with a sum that is computed without the arrays.
// For the kernel `read` both must be equal in every bit. The sum of dot may differ by the rounding of
// its additions.
func (d *Driver) verifySum(u *unit, c Case, s native.Step) (record.Verified, error) {
	got, err := d.words(u, 0, u.parts(s.Launch))
	if err != nil {
		return record.Verified{}, err
	}
	n, l := c.elements(), checkLaunch(c.elements())
	blocks := u.parts(l)
	sums := native.Address{Buffer: u.sums, Offset: 8 * blocks}
	if err := d.clearSums(u, 3*blocks); err != nil {
		return record.Verified{}, err
	}
	if err := d.launch(u, dataFile, "zb_data_sum_"+c.Type.short, l,
		uint64(n), d.cfg.Seed, flag(c.Zeros), u.sums, sums); err != nil { //nolint:gosec // not negative
		return record.Verified{}, err
	}
	if err := d.wait(u); err != nil {
		return record.Verified{}, err
	}
	made, err := d.words(u, 0, 3*blocks)
	if err != nil {
		return record.Verified{}, err
	}
	v := verified(n, 0)
	// the number of successive additions of both sums, over threads and blocks
	depth := n/u.lanes(s.Launch) + n/u.lanes(l) + int64(s.Launch.Grid[0]) + blocks + 64
	expected, received := compareSums(c.Stream, depth, got, made[:blocks], made[blocks:])
	if expected != received {
		v = verified(1, 1)
		v.First = &record.WrongElement{Expected: expected, Got: received}
	}
	return v, nil
}

// compareSums returns the expected and the actual sum as texts, which are equal if the sum is
// right. Each of `depth` successive additions may round by half a unit in the last place. `sums`
// alternates a block's sum with its sum of magnitudes.
func compareSums(s Stream, depth int64, got, words, sums []uint64) (expected, received string) {
	if s.Name == "read" {
		var a, b uint32
		for _, w := range got {
			a += uint32(w) //nolint:gosec // modulo 2^32
		}
		for _, w := range words {
			b += uint32(w) //nolint:gosec // modulo 2^32
		}
		return fmt.Sprintf("checksum %08x", b), fmt.Sprintf("checksum %08x", a)
	}
	var a, b, size float64
	for _, w := range got {
		a += math.Float64frombits(w)
	}
	for i := 0; i < len(sums); i += 2 {
		b += math.Float64frombits(sums[i])
		size += math.Float64frombits(sums[i+1])
	}
	expected, received = fmt.Sprintf("%.17g", b), fmt.Sprintf("%.17g", a)
	if math.Abs(a-b) <= float64(depth)*0x1p-53*size {
		received = expected
	}
	return expected, received
}

// words() reads n 8-byte words of the buffer of sums, from word `first` on.
func (d *Driver) words(u *unit, first, n int64) ([]uint64, error) {
	raw := make([]byte, 8*n)
	if err := d.p.Read(native.Address{Buffer: u.sums, Offset: 8 * first}, raw); err != nil {
		return nil, err
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return out, nil
}
