package muon

import (
	"errors"
	"fmt"
	"slices"

	"zbench/bench/run/record"
	method "zbench/bench/work/muon"
)

// checkSide is the largest side at which a whole step is repeated in float64; checkElements is the
// number of checked elements of a full-size product.
const (
	checkSide     = 192
	checkElements = 256
)

// check returns a target's checks by the kernel whose results they cover. It runs them once per
// target. On a GPU it checks a whole step of a reduced shape and the products of the real shape.
// Emulated kernels undergo both checks at their own shape.
func (d *Driver) check(t target) (map[string][]record.Check, error) {
	if found := d.checks[t]; found != nil {
		return found, nil
	}
	var all []record.Check
	var err error
	if !d.Emulated() { // first, before the real shape takes the memory
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

// checkReduced checks a whole step of a shape that is small enough for float64.
func (d *Driver) checkReduced(t target) ([]record.Check, error) {
	w, err := d.NewWork(t.runs.Reduced(checkSide))
	if err != nil {
		return nil, err
	}
	checks, err := w.Check()
	return checks, errors.Join(err, w.Close())
}

// mergeRepeats keeps one check per shape and question, with the worst deviation. The same
// product is checked in every step.
func mergeRepeats(checks []record.Check) []record.Check {
	var out []record.Check
	for _, c := range checks {
		same := func(o record.Check) bool { return o.Shape == c.Shape && o.What == c.What && o.Bar == c.Bar }
		if i := slices.IndexFunc(out, same); i >= 0 {
			if out[i].Pattern == "" { // keep the first wrong step, because later steps build on its result
				out[i].Pattern, out[i].Note = c.Pattern, c.Note
			}
			out[i].Worst(c.Found)
			continue
		}
		out = append(out, c)
	}
	return out
}

// The names of the checks.
const (
	checkedUpdate    = "update against float64"
	checkedWeight    = "weight against float64"
	checkedSymmetry  = "X·Xᵀ and bA + cA² symmetric to the last bit"
	checkedTranspose = "aX + BX and its transpose equal to the last bit"
)

// sampled() returns the name of a check of single elements. whole() returns the name of a check of
// a complete product in every step.
func sampled(what string, elements int) string {
	return fmt.Sprintf("%s at %d elements", what, elements)
}

func whole(what string) string { return what + ", whole" }

// byKernel assigns each check to the kernels whose results it covers. The update depends on all
// passes except the last one; the iteration depends on all products.
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

// checksOf returns the checks of a row. The checks of the vendor's Newton–Schulz count only for its
// own row, so that a failing library fails no other row.
func (d *Driver) checksOf(t target, e entry) ([]record.Check, error) {
	checks, err := d.check(t)
	if err == nil && e.byVendor() {
		return d.checkVendor(t, e.role == record.Hybrid)
	}
	return checks[method.What(&record.Kernel{Kernel: e.kernel, Role: e.role})], err
}

// byVendor reports whether the row is a Newton–Schulz with the vendor's products.
func (e entry) byVendor() bool {
	return (e.role == record.Vendor || e.role == record.Hybrid) && e.kernel == method.Iteration
}

// verdict returns the result of a row's checks. A vendor's single product is timed, not checked.
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

// failing() describes a check whose result exceeds its bar.
func failing(c record.Check) string {
	text := c.What + " of " + c.Shape + ": "
	switch {
	case c.Note != "":
		if c.Bar.Frobenius == 0 { // a check of single elements
			return fmt.Sprintf("%s%s (%.3g times the expected rounding error)", text, c.Note, c.Found.Max)
		}
		return fmt.Sprintf("%s%s (%.3g times the expected rounding error in all, %.3g times in the worst row or column)", text, c.Note, c.Found.Frobenius, c.Found.Max)
	case c.Bar == record.Deviation{}:
		return fmt.Sprintf("%s%g elements differ", text, c.Found.Max)
	case c.Bar.Frobenius == 0:
		return fmt.Sprintf("%san element is off by %.3g of it (bar %.3g)", text, c.Found.Max, c.Bar.Max)
	}
	return fmt.Sprintf("%soff by %.3g in all (bar %.3g), by %.3g at the most (bar %.3g)", text, c.Found.Frobenius, c.Bar.Frobenius, c.Found.Max, c.Bar.Max)
}
