package gate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/spell"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
)

// Threshold is a parsed threshold: the cases that it selects, and its conditions for each case.
type Threshold struct {
	// Text is the threshold as given, with single spaces.
	Text string
	// name is the name of the collective or kernel; empty means any.
	name        string
	where, need []condition
}

// condition compares one field with a value.
type condition struct {
	*field
	sign   string
	number float64
	text   string
}

// Any stands for every collective or kernel.
const Any = "any"

// Grammar is the form of a threshold, for a flag's help.
const Grammar = "NAME [FIELD>=VALUE…] METRIC>=VALUE"

// signs are the comparisons, longest first.
var signs = []string{">=", "<=", "!=", ">", "<", "="}

// Parse reads a threshold. names are the kernels that a threshold may name besides collectives. An error states the
// mistake and the valid values.
func Parse(text string, names ...string) (*Threshold, error) {
	t, err := selection(strings.Fields(text), names)
	if err != nil {
		return nil, err
	}
	if len(t.need) == 0 {
		return nil, fmt.Errorf("threshold %q has no metric to check: add one of %s, such as busbw>=300GB/s", t.Text, strings.Join(fieldNames(true), ", "))
	}
	return t, nil
}

// selection reads a name and conditions. It stores conditions on metrics in `need`, and all other conditions in
// `where`.
func selection(words, names []string) (*Threshold, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("the threshold is empty: the form is %s", Grammar)
	}
	t := &Threshold{Text: strings.Join(words, " ")}
	if err := t.setName(words[0], names); err != nil {
		return nil, err
	}
	for _, word := range words[1:] {
		c, err := parseCondition(word)
		if err != nil {
			return nil, fmt.Errorf("threshold %q: %w", t.Text, err)
		}
		if c.show != nil {
			t.need = append(t.need, c)
		} else {
			t.where = append(t.where, c)
		}
	}
	return t, nil
}

// setName sets the name from a collective's or a kernel's name in any spelling.
func (t *Threshold) setName(word string, kernels []string) error {
	if word == Any || word == "*" {
		return nil
	}
	if own, ok := spell.Match(kernels, word); ok {
		t.name = own
		return nil
	}
	c, err := collective.ByName(word)
	if err == nil {
		t.name = c.Name
		return nil
	}
	if strings.ContainsAny(word, "<>=!") {
		return fmt.Errorf("threshold %q begins with a condition: begin with a collective, a kernel or %q", t.Text, Any)
	}
	if unknown, ok := errors.AsType[*spell.Unknown](err); ok {
		unknown.Kind = "collective or kernel"
		unknown.Valid = slices.Concat(unknown.Valid, kernels, []string{Any})
	}
	return err
}

func parseCondition(word string) (condition, error) {
	at := strings.IndexAny(word, "<>=!")
	if at < 1 {
		return condition{}, fmt.Errorf("%q is not FIELD, a comparison and VALUE without spaces, such as bytes>=128MiB", word)
	}
	name, rest := word[:at], word[at:]
	c := condition{}
	for _, s := range signs {
		if value, ok := strings.CutPrefix(rest, s); ok {
			c.sign, c.text = s, value
			break
		}
	}
	if c.sign == "" || c.text == "" || strings.ContainsAny(c.text, "<>=!") {
		return condition{}, fmt.Errorf("%q has no comparison with a value: the comparisons are %s", word, strings.Join(signs, " "))
	}
	own, err := spell.Own("field", slices.Concat(fieldNames(false), fieldNames(true)), name)
	if err != nil {
		return condition{}, err
	}
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == own })
	c.field = &fields[i]
	if c.parse == nil {
		if d, err := collective.DtypeByName(c.text); err == nil && own == "dtype" {
			c.text = d.Name // fp32 is float
		}
		if c.sign != "=" && c.sign != "!=" {
			return condition{}, fmt.Errorf("%q: %s is a word; compare it with = or !=", word, own)
		}
		return c, nil
	}
	if c.number, err = c.parse(c.text); err != nil {
		return condition{}, fmt.Errorf("%q: %w", word, err)
	}
	return c, nil
}

// `holds` reports whether a number meets the condition.
func (c condition) holds(v float64) bool {
	order := cmp.Compare(v, c.number)
	if c.sign == "!=" {
		return order != 0
	}
	return strings.Contains(c.sign, "<=>"[order+1:order+2])
}

// `worse` reports whether the figure v misses the condition by more, or meets it by less, than another figure.
func (c condition) worse(v, than float64) bool {
	switch c.sign[0] {
	case '>':
		return v < than
	case '<':
		return v > than
	}
	return !c.holds(v) && c.holds(than)
}

// `extreme` returns the word for the worst figure of several cases.
func (c condition) extreme() string {
	switch c.sign[0] {
	case '>':
		return "lowest "
	case '<':
		return "highest "
	}
	return ""
}

// `matches` reports whether a case meets the condition.
func (c condition) matches(r *row) bool {
	if c.parse == nil {
		return (spell.Key(r.Axis(c.name).Word) == spell.Key(c.text)) == (c.sign == "=")
	}
	values := r.Axis(c.name).Numbers
	if c.sign == "!=" {
		return !slices.Contains(values, c.number)
	}
	return slices.ContainsFunc(values, c.holds)
}

// scale is the name of a unit and its size in base units.
type scale struct {
	suffix string
	size   float64
}

var (
	// rates are in bytes per second. Bits are refused: 390 Gb/s is 48.75 GB/s.
	rates  = []scale{{"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"KB/s", 1e3}, {"GiB/s", 1 << 30}, {"TiB/s", 1 << 40}, {"MiB/s", 1 << 20}, {"B/s", 1}}
	times  = []scale{{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}}
	ratios = []scale{{"%", 0.01}, {"", 1}}
	// operations are floating-point operations per second.
	operations = []scale{{"PFLOP/s", 1e15}, {"TFLOP/s", 1e12}, {"GFLOP/s", 1e9}}
	factors    = []scale{{"x", 1}, {"", 1}}
)

// quantity returns a parser of numbers from 0 on with one of the units.
func quantity(what, example string, scales []scale) func(string) (float64, error) {
	return func(text string) (float64, error) {
		for _, s := range scales {
			digits, ok := strings.CutSuffix(text, s.suffix)
			if !ok {
				continue
			}
			v, err := strconv.ParseFloat(digits, 64)
			if err == nil && v >= 0 && v*s.size <= maxValue && !strings.ContainsAny(digits, "xXpP_") {
				return v * s.size, nil
			}
		}
		return 0, fmt.Errorf("%q is not %s, such as %s", text, what, example)
	}
}

// maxValue bounds the value of a threshold.
const maxValue = 1e18

func size(text string) (float64, error) {
	n, err := unit.ParseBytes(text)
	return float64(n), err
}

func count(text string) (float64, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return float64(n), nil
}

// ParseFailOn reads a condition of --fail-on: the word alone, or with a limit, as in "slower:5%". It returns the limit
// as a ratio, or `standard` if no limit is given.
func ParseFailOn(text, word string, standard float64) (least float64, err error) {
	given, limit, limited := strings.Cut(strings.TrimSpace(text), ":")
	if given != word {
		return 0, fmt.Errorf("%q is not %s or %s:5%%", text, word, word)
	}
	if !limited {
		return standard, nil
	}
	digits, percent := strings.CutSuffix(limit, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || !percent || !(v >= 0 && v <= 1000) {
		return 0, fmt.Errorf("%q: the limit is a percentage from 0%% to 1000%%, such as %s:5%%", text, word)
	}
	return v / 100, nil
}
