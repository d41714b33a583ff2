package record

import (
	"cmp"
	"fmt"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// CheckNames refuses a record with a name that is too long. The error gives its place.
func (rec *Record) CheckNames() error {
	err := cmp.Or(
		plain.Name("tool.name", rec.Tool.Name), plain.Name("tool.version", rec.Tool.Version), plain.Name("world.gpu", rec.World.GPU),
		plain.Name("source.backend", rec.Source.Backend), plain.Name("source.clock", rec.Source.Clock),
		plain.Name("source.driver", rec.Source.Driver),
	)
	for i, host := range rec.World.Hosts {
		err = cmp.Or(err, plain.Name(fmt.Sprintf("world.hosts[%d]", i), host))
	}
	for i, d := range rec.World.Devices {
		err = cmp.Or(err, plain.Name(fmt.Sprintf("world.devices[%d].name", i), d.Name))
	}
	for i, k := range rec.World.NICs {
		err = cmp.Or(err, plain.Name(fmt.Sprintf("world.nics[%d].driver", i), k.Driver), plain.Name(fmt.Sprintf("world.nics[%d].model", i), k.Model))
	}
	for i, l := range rec.Source.Libraries {
		err = cmp.Or(err, plain.Name(fmt.Sprintf("source.libraries[%d]", i), l.Name), plain.Name(fmt.Sprintf("source.libraries[%d].version", i), l.Version))
	}
	if f := rec.Fabric; f != nil {
		err = cmp.Or(err, plain.Name("fabric.name", f.Name), plain.Name("fabric.title", f.Title))
		for i, r := range f.Roofs {
			err = cmp.Or(err, plain.Name(fmt.Sprintf("fabric.roofs[%d].label", i), r.Label))
		}
	}
	for i, r := range rec.Each() {
		err = cmp.Or(err, within("results", i, r.checkNames()))
	}
	for i, k := range rec.KernelRows() {
		err = cmp.Or(err, within("kernels", i, k.checkNames()))
	}
	return err
}

func within(list string, i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s[%d]: %w", list, i, err)
}

// checkNames refuses a result with a name that is too long.
func (r *Result) checkNames() error {
	return cmp.Or(
		plain.Name("key", r.Key), plain.Name("collective", r.Collective), plain.Name("dtype", r.Dtype), plain.Name("op", r.Op),
		plain.Name("setup", r.Setup), plain.Name("headline", r.Headline),
	)
}

// checkNames refuses a row of a kernel with a name that is too long.
func (k *Kernel) checkNames() error {
	return cmp.Or(plain.Name("key", k.Key), plain.Name("kernel", k.Kernel), plain.Name("library", k.Library), plain.Name("shape.name", k.Shape.Name))
}

// Collectives lists the collectives of the results in order of first appearance, in the user's
// words.
func (rec *Record) Collectives() []string {
	return slice.Distinct(slice.Map(rec.Results, func(r Result) string { return plain.OrUnnamed(r.Collective) }))
}
