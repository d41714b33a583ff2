package muon

import (
	"errors"
	"fmt"
	"slices"

	"zbench/bench/run/record"
	method "zbench/bench/work/muon"
)

// checkSide is the largest side that float64 follows whole, and checkElements the number of checked
// elements of a full-size product.
const (
	checkSide     = 192
	checkElements = 256
)

// check returns a target's checks by the kernel that they cover; they are made once. On a GPU it
// checks a whole step of a reduced shape and the products of the real one; emulated kernels are
// checked in both ways at their shape.
func (d *Driver) check(t target) (map[string][]record.Check, error) {
	if found := d.checks[t]; found != nil {
		return found, nil
	}
	var all []record.Check
	var err error
	if !d.Emulated() { // before the memory of the real shape is allocated
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
	more, err := w.Products(checkElements)
	if err == nil && !d.Emulated() {
		var full []record.Check
		full, err = w.EveryTile(checkElements)
		more = append(more, full...)
	}
	if err != nil {
		return nil, err
	}
	d.checks[t] = byKernel(mergeRepeats(append(all, more...)))
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

// mergeRepeats keeps one check per shape and question, with the worst deviation: products are
// checked in every step.
func mergeRepeats(checks []record.Check) []record.Check {
	var out []record.Check
	for _, c := range checks {
		same := func(o record.Check) bool { return o.Shape == c.Shape && o.What == c.What && o.Bar == c.Bar }
		if i := slices.IndexFunc(out, same); i >= 0 {
			if out[i].Pattern == "" { // the first wrong step, because the others build on it
				out[i].Pattern, out[i].Note = c.Pattern, c.Note
			}
			out[i].Worst(c.Found)
			continue
		}
		out = append(out, c)
	}
	return out
}

// Names of the checks.
const (
	checkedUpdate    = "update against float64"
	checkedWeight    = "weight against float64"
	checkedSymmetry  = "X·Xᵀ and bA + cA² symmetric to the last bit"
	checkedTranspose = "aX + BX and its transpose equal to the last bit"
)

// sampled names a check of random elements, whole a check of a whole product in every step.
func sampled(what string, elements int) string {
	return fmt.Sprintf("%s at %d elements", what, elements)
}

func whole(what string) string { return what + ", whole" }

// byKernel assigns each check to the kernels whose results it covers: all except the last pass are
// behind the update, all products behind the iteration.
func byKernel(checks []record.Check) map[string][]record.Check {
	out := map[string][]record.Check{}
	of := map[string][]string{
		checkedUpdate:    {method.Prepare, transpose, method.Iteration},
		checkedWeight:    {weightUpdate},
		checkedSymmetry:  {method.Gram.String(), method.Square.String(), method.Iteration},
		checkedTranspose: {method.Apply.String(), method.Iteration},

		whole(method.Prepare): {method.Prepare},
		whole(transpose):      {transpose},
	}
	for _, p := range method.Products() {
		of[sampled(p.String(), checkElements)] = []string{p.String()}
		of[whole(p.String())] = []string{p.String(), method.Iteration}
		every := p.String() + method.EveryTile
		of[sampled(every, checkElements)], of[whole(every)] = []string{every}, []string{every}
	}
	for _, c := range checks {
		for _, kernel := range of[c.What] {
			out[kernel] = append(out[kernel], c)
		}
	}
	return out
}

// checksOf returns the checks of a row. Those of Newton–Schulz by the vendor's products only count
// for its row: a failing library fails no other.
func (d *Driver) checksOf(t target, e entry) ([]record.Check, error) {
	checks, err := d.check(t)
	if err == nil && e.byVendor() {
		return d.checkVendor(t, e.role == record.Hybrid)
	}
	return checks[method.What(&record.Kernel{Kernel: e.kernel, Role: e.role})], err
}

// byVendor reports whether it is Newton–Schulz with the vendor's products.
func (e entry) byVendor() bool {
	return (e.role == record.Vendor || e.role == record.Hybrid) && e.kernel == method.Iteration
}

// verdict returns the result of a row's checks. A vendor's product alone has none.
func verdict(e entry, checks []record.Check) *record.Verified {
	if e.role == record.Vendor && !e.byVendor() {
		return &record.Verified{State: record.NotVerified, Reason: "the vendor's product is timed, not checked"}
	}
	v := &record.Verified{State: record.VerifiedOK, Checks: checks}
	for _, c := range checks {
		if !c.OK() {
			v.State, v.Reason = record.VerifiedWrong, failing(c)
			break
		}
	}
	return v
}

// failing describes a check's result beyond its bar.
func failing(c record.Check) string {
	text := c.What + " of " + c.Shape + ": "
	switch {
	case c.Note != "":
		if c.Bar.Frobenius == 0 { // of elements
			return fmt.Sprintf("%s%s (%.3g times what rounding explains)", text, c.Note, c.Found.Max)
		}
		return fmt.Sprintf("%s%s (%.3g times what rounding explains in all, %.3g in the worst row or column)", text, c.Note, c.Found.Frobenius, c.Found.Max)
	case c.Bar == record.Deviation{}:
		return fmt.Sprintf("%s%g elements differ", text, c.Found.Max)
	case c.Bar.Frobenius == 0:
		return fmt.Sprintf("%san element is off by %.3g of it (bar %.3g)", text, c.Found.Max, c.Bar.Max)
	}
	return fmt.Sprintf("%soff by %.3g in all (bar %.3g), by %.3g at the most (bar %.3g)", text, c.Found.Frobenius, c.Bar.Frobenius, c.Found.Max, c.Bar.Max)
}
