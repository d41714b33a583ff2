package spec

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/unit"
)

// Observed holds timed training steps by bucket-size setting.
type Observed struct {
	// Name of the file with all of them; absent if there is none.
	File string `json:"file,omitempty"`
	// Settings in the order in which they were given.
	Settings []ObservedSetting `json:"settings"`
}

// ObservedSetting is one setting and its steps.
type ObservedSetting struct {
	// Setting in the spelling of the trainer's users, or default.
	Setting string `json:"setting"`
	// Name of the trace with its steps; absent if there is none.
	File string `json:"file,omitempty"`
	// Steps in the order of timing, in seconds.
	Seconds []float64 `json:"seconds"`
}

// longest is the longest plausible step, in seconds: a longer one is an error of units.
const longest = 1e5

// mostObserved bounds the settings and the steps.
const mostObserved = 1 << 16

// add adds steps to the earlier steps of a setting and returns the setting.
func (o *Observed) add(setting string, seconds ...float64) (*ObservedSetting, error) {
	setting = strings.TrimSpace(setting)
	switch {
	case setting == "":
		return nil, errors.New("a step lacks its setting")
	case strings.ContainsAny(setting, " \t"):
		return nil, fmt.Errorf("the setting %.60q is no number or word: is another line mixed into it?", setting)
	case len(seconds) == 0:
		return nil, fmt.Errorf("setting %s has no step", setting)
	case slices.ContainsFunc(seconds, func(t float64) bool { return !(t > 0 && t <= longest) }):
		return nil, fmt.Errorf("setting %s has a step that is not above 0 and at most %g s", setting, longest)
	}
	i := slices.IndexFunc(o.Settings, func(s ObservedSetting) bool { return s.Setting == setting })
	if i < 0 {
		i = len(o.Settings)
		o.Settings = append(o.Settings, ObservedSetting{Setting: setting})
	}
	at := &o.Settings[i]
	at.Seconds = append(at.Seconds, seconds...)
	if len(o.Settings) > mostObserved || len(at.Seconds) > mostObserved {
		return nil, fmt.Errorf("more than %d steps", mostObserved)
	}
	return at, nil
}

// ParseObserved reads a list: 25=412ms,100=388ms. trace returns the steps of a file given in place
// of a time.
func ParseObserved(text string, trace func(path string) (name string, seconds []float64, err error)) (*Observed, error) {
	o := &Observed{}
	for pair := range strings.SplitSeq(text, ",") {
		setting, value, has := strings.Cut(pair, "=")
		if !has {
			return nil, fmt.Errorf("%q is not SETTING=TIME", pair)
		}
		name, seconds := "", []float64{0}
		var err error
		if seconds[0], err = unit.ParseSeconds(value); err != nil {
			if value == "" || strings.Trim(value, "0123456789. ") == "" {
				return nil, err //nolint:wrapcheck // the error names the value
			}
			if name, seconds, err = trace(value); err != nil {
				return nil, err
			}
		}
		at, err := o.add(setting, seconds...)
		if err != nil {
			return nil, err
		}
		at.File = name
	}
	return o, nil
}

// perSecond maps each unit of a header to the number of these units in a second.
var perSecond = map[string]float64{"s": 1, "sec": 1, "seconds": 1, "ms": 1e3, "milliseconds": 1e3, "us": 1e6, "µs": 1e6, "microseconds": 1e6}

// ReadObserved reads a table of two columns, the setting and the time of a step, one row per step
// in the order of timing. Times have their unit, or the header names it: setting,step_ms.
func ReadObserved(name string, r io.Reader) (*Observed, error) {
	o := &Observed{File: name}
	rows := csv.NewReader(r)
	rows.Comment, rows.FieldsPerRecord, rows.TrimLeadingSpace = '#', -1, true
	per, width := 0.0, 0
	for first := true; ; first = false {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := rows.FieldPos(0)
		if len(row) < 2 {
			return nil, fmt.Errorf("%s:%d: a row is a setting and the time of a step", name, line)
		}
		if first {
			width = len(row)
		}
		if len(row) > width {
			return nil, fmt.Errorf("%s:%d: %d cells, the first line has %d: is a line end missing?", name, line, len(row), width)
		}
		setting, value := row[0], strings.TrimSpace(row[1])
		words := strings.FieldsFunc(strings.ToLower(value), func(r rune) bool { return strings.ContainsRune(" _()[]", r) })
		if first && len(words) > 0 && strings.Trim(value[:1], "0123456789.+-") != "" {
			per = perSecond[words[len(words)-1]]
			continue
		}
		t, err := strconv.ParseFloat(value, 64)
		if t /= per; err != nil || per == 0 {
			if t, err = unit.ParseSeconds(value); err != nil {
				return nil, fmt.Errorf("%s:%d: %w, or name the unit in the header: setting,step_ms", name, line, err)
			}
		}
		if _, err := o.add(setting, t); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
	if len(o.Settings) == 0 {
		return nil, fmt.Errorf("%s has no step", name)
	}
	return o, nil
}

// flag formats the command-line value.
func (o *Observed) flag() string {
	switch {
	case o == nil:
		return ""
	case o.File != "":
		return o.File
	}
	var pairs []string
	for _, s := range o.Settings {
		if s.File != "" {
			pairs = append(pairs, s.Setting+"="+s.File)
			continue
		}
		for _, t := range s.Seconds {
			pairs = append(pairs, s.Setting+"="+strconv.FormatFloat(math.Round(t*1e9)/1e6, 'f', -1, 64)+"ms")
		}
	}
	return strings.Join(pairs, ",")
}
