package muon

import (
	"errors"
	"fmt"
	"slices"

	method "zbench/bench/muon"
	"zbench/bench/record"
)

// checkSide is the side of what is followed whole in float64, and checkElements
// how many elements of a product of the real size.
const (
	checkSide     = 192
	checkElements = 256
)

// check returns a target's checks by the kernel that they hold; they are made once.
// On a GPU a reduced shape is checked whole and elements of the real one; where the
// kernels are emulated what runs is checked both ways.
func (d *Driver) check(t target) (map[string][]record.Check, error) {
	if found := d.checks[t]; found != nil {
		return found, nil
	}
	var all []record.Check
	var err error
	if !d.Emulated() { // before the memory of the real shape is taken
		if all, err = d.checkReduced(t); err != nil {
			return nil, err
		}
	}
	w, err := d.enter(t)
	if err == nil && d.Emulated() {
		all, err = w.Check()
	}
	if err != nil {
		return nil, err
	}
	more, err := w.Sample(checkElements)
	if err == nil && !d.Emulated() {
		var full []record.Check
		full, err = w.SampleEveryTile(checkElements)
		more = append(more, full...)
	}
	if err != nil {
		return nil, err
	}
	d.checks[t] = byKernel(once(append(all, more...)))
	return d.checks[t], nil
}

// checkReduced checks a whole step of a shape that float64 can follow.
func (d *Driver) checkReduced(t target) ([]record.Check, error) {
	w, err := d.NewWork(t.runs.Reduced(checkSide))
	if err != nil {
		return nil, err
	}
	checks, err := w.Check()
	return checks, errors.Join(err, w.Close())
}

// once are the checks, what was checked more than once as one with the worst finding:
// symmetry is held after a whole step, and after the products of the first.
func once(checks []record.Check) []record.Check {
	var out []record.Check
	for _, c := range checks {
		same := func(o record.Check) bool { return o.Shape == c.Shape && o.What == c.What && o.Bar == c.Bar }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Worst(c.Found)
			continue
		}
		out = append(out, c)
	}
	return out
}

// What the checks of a whole step are called.
const (
	checkedUpdate   = "update against float64"
	checkedWeight   = "weight against float64"
	checkedSymmetry = "X·Xᵀ and bA + cA² symmetric to the last bit"
	checkedVendor   = "update by the vendor's products against float64"
	checkedOurs     = "update by the vendor's products against ours"
)

// byKernel gives each check to the kernels whose results it holds: all but the last
// pass are behind the update.
func byKernel(checks []record.Check) map[string][]record.Check {
	out := map[string][]record.Check{}
	for _, c := range checks {
		var of []string
		switch c.What {
		case checkedUpdate:
			of = []string{method.Prepare, transpose, method.Iteration}
		case checkedWeight:
			of = []string{weightUpdate}
		case checkedSymmetry:
			of = []string{method.Gram.String(), method.Square.String()}
		default:
			for _, p := range method.Products() {
				for _, what := range []string{p.String(), p.String() + method.EveryTile} {
					if c.What == sampled(what, checkElements) {
						of = append(of, what)
					}
				}
			}
		}
		for _, kernel := range of {
			out[kernel] = append(out[kernel], c)
		}
	}
	return out
}

// sampled names a check of random elements.
func sampled(what string, elements int) string {
	return fmt.Sprintf("%s at %d elements", what, elements)
}

// checksOf are the checks of a row. Those of Newton–Schulz by the vendor's products are made
// for its row alone: a library that fails fails no other.
func (d *Driver) checksOf(t target, e entry) ([]record.Check, error) {
	checks, err := d.check(t)
	if err == nil && e.byVendor() {
		return d.checkVendor(t)
	}
	return checks[method.What(&record.Kernel{Kernel: e.kernel, Role: e.role})], err
}

// byVendor tells whether it is Newton–Schulz by the vendor's products.
func (e entry) byVendor() bool { return e.role == record.Vendor && e.kernel == method.Iteration }

// verdict is what a row's checks come to. A vendor's product alone has none.
func verdict(e entry, checks []record.Check) *record.Verified {
	if e.role == record.Vendor && !e.byVendor() {
		return &record.Verified{State: record.NotVerified, Reason: "the vendor's product is timed, not checked"}
	}
	v := &record.Verified{State: record.VerifiedOK, Checks: checks}
	for _, c := range checks {
		if !c.OK() {
			v.State = record.VerifiedWrong
			v.Reason = fmt.Sprintf("%s of %s: %.3g in all (bar %.3g), %.3g at the most (bar %.3g)", c.What, c.Shape, c.Found.Frobenius, c.Bar.Frobenius, c.Found.Max, c.Bar.Max)
			break
		}
	}
	return v
}
