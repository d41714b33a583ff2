package hbm

import (
	"fmt"

	"zbench/bench/run/record"
	"zbench/internal/native"
)

// Case is one stream over arrays of one size.
type Case struct {
	Stream Stream
	Type   Type
	Config record.LaunchConfig
	Role   string
	// Array is the size of one array in bytes. An incomplete last element is
	// left out.
	Array int64
	Zeros bool
}

// NewCase returns a stream's case in a role. The role and the backend determine the launch
// configuration.
func NewCase(backend string, s Stream, t Type, role string, array int64, zeros bool) Case {
	c := Case{Stream: s, Type: t, Config: presetConfig(), Role: role, Array: array, Zeros: zeros}
	switch role {
	case record.Reference:
		c.Config = referenceConfig(backend)
	case record.SizeSweep:
		c.Config.NonTemporal = false // non-temporal stores would bypass the caches that a sweep shows
	}
	return c
}

// elements returns the number of elements in one array.
func (c Case) elements() int64 { return c.Array / c.Type.Bytes }

// Key returns the case's name.
func (c Case) Key() string {
	return fmt.Sprintf("%s/%s/%s/%d/b%d-l%d-nt%d-%s", c.Role, c.Stream.Name, c.Type.Name, c.Array, c.Config.Block, c.Config.Loads, flag(c.Config.NonTemporal), c.Config.Grid)
}

// kernel returns the name of the case's function in stream.hip.
func (c Case) kernel() string {
	return fmt.Sprintf("zb_%s_%s_%d_%d", c.Stream.Name, c.Type.short, max(1, c.Config.Loads), flag(c.Config.NonTemporal))
}

// row returns the known facts of the case before it runs.
func (c Case) row(u *unit) record.Kernel {
	set := c.elements() * c.Type.Bytes * c.Stream.Arrays()
	k := record.Kernel{
		Kernel: c.Stream.Name, Dtype: c.Type.Name, Role: c.Role, Config: c.Config, Shape: record.Shape{Array: c.Array},
		Moved: set, Counting: Counting, WorkingSet: set, CacheResident: CacheResident(u.info, c.Array),
	}
	k.Config.Blocks = int64(launchOf(c.Config, c.Type, c.elements(), u.info.Units).Grid[0])
	if u.info.Kind == record.HostMemory {
		k.Config = record.LaunchConfig{NonTemporal: c.Config.NonTemporal, CPUs: u.info.Units}
	}
	return k
}

// steps returns the launch of the case.
func (c Case) steps(d *Driver, u *unit) ([]native.Step, error) {
	f, err := u.modules[streamFile].Function(c.kernel())
	if err != nil {
		return nil, err
	}
	s, l := scalar, launchOf(c.Config, c.Type, c.elements(), u.info.Units)
	if c.Zeros {
		s = 0
	}
	return []native.Step{{
		Function: f, Launch: l.Launch,
		Args: []any{d.at(u, 2), d.at(u, 0), d.at(u, 1), s, uint64(c.elements()), uint64(l.tiles), uint64(l.run), u.sums}, //nolint:gosec // not negative
	}}, nil
}
