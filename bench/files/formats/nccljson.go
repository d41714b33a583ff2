package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"zbench/bench/files/peers"
)

// nccl-tests and rccl-tests write JSON (versions 1 to 4) with the same content as their text.
// zbench converts it to that text, so that a single reader makes all checks.

func init() {
	register(Format{
		Name: "nccl-tests-json", Title: "the JSON of nccl-tests or rccl-tests", Holds: Curve, rank: 35, Use: useImport,
		recognise: func(head []byte) bool {
			return begins(head, '{') && has(head, `"nccl_version"`, `"rccl_version"`, `"start_time"`, `"out_of_place"`) && !has(head, `"communicators"`)
		},
		curve: rewritten(textOfNCCL),
	})
}

// textOfNCCL converts the JSON to the text of the same run. It keeps the data before a damaged
// place; the error says where the text ends.
func textOfNCCL(r io.Reader) ([]byte, error) {
	var out bytes.Buffer
	d := decoder(r)
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, fmt.Errorf("%w: it is no object", peers.ErrFormat)
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return out.Bytes(), cutJSON(err)
		}
		if key == "results" {
			preambleOf(fields, &out)
			if err := ncclRows(d, &out); err != nil {
				return out.Bytes(), err
			}
			continue
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return out.Bytes(), cutJSON(err)
		}
		if name, ok := key.(string); ok && name != "env" { // the environment may contain secrets
			fields[name] = value
		}
	}
	if _, err := d.Token(); err != nil {
		return out.Bytes(), cutJSON(err)
	}
	footerOf(fields, &out)
	return out.Bytes(), nil
}

// decoder returns a JSON decoder that keeps numbers as written and skips a byte order mark.
func decoder(r io.Reader) *json.Decoder {
	in := bufio.NewReader(r)
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(3)
	}
	d := json.NewDecoder(in)
	d.UseNumber()
	return d
}

func cutJSON(err error) error {
	return fmt.Errorf("%w: the JSON ends or breaks: %w", peers.ErrFormat, err)
}

// preambleOf writes the lines that nccl-tests prints before its table.
func preambleOf(fields map[string]json.RawMessage, out *bytes.Buffer) {
	var args []string
	_ = json.Unmarshal(fields["args"], &args) // without arguments the collective stays unknown
	if len(args) > 0 {
		fmt.Fprintf(out, "# Collective test starting: %s\n", path.Base(plainLine(args[0])))
	}
	var c struct {
		Threads    json.Number `json:"nthreads"`
		GPUs       json.Number `json:"ngpus"`
		Least      json.Number `json:"minimum_bytes"`
		Most       json.Number `json:"maximum_bytes"`
		Factor     json.Number `json:"step_factor"`
		Bytes      json.Number `json:"step_bytes"`
		Warmup     json.Number `json:"warmup_iters"`
		Iterations json.Number `json:"iterations"`
		Aggregated json.Number `json:"aggregated_iterations"`
		Validation json.Number `json:"validation"`
		Graph      json.Number `json:"graph"`
		Devices    []struct {
			Rank   int    `json:"rank"`
			Group  int    `json:"group"`
			Pid    int    `json:"pid"`
			Host   string `json:"hostname"`
			Device int    `json:"device"`
			Hex    string `json:"device_hex"`
			Info   string `json:"device_info"`
		} `json:"devices"`
	}
	_ = json.Unmarshal(fields["config"], &c) // without a configuration the world stays unknown
	step := string(c.Factor) + "(factor)"
	if c.Factor == "" {
		step = string(c.Bytes) + "(bytes)"
	}
	if c.Iterations != "" {
		fmt.Fprintf(out, "# nThread %s nGpus %s minBytes %s maxBytes %s step: %s warmup iters: %s iters: %s agg iters: %s validation: %s graph: %s\n#\n",
			c.Threads, c.GPUs, c.Least, c.Most, step, c.Warmup, c.Iterations, c.Aggregated, c.Validation, c.Graph)
	}
	if len(c.Devices) > 0 {
		out.WriteString("# Using devices\n")
	}
	for _, v := range c.Devices {
		fmt.Fprintf(out, "#  Rank %2d Group %2d Pid %6d on %10s device %2d [%s] %s\n", v.Rank, v.Group, v.Pid, plainLine(v.Host), v.Device, plainLine(v.Hex), plainLine(v.Info))
	}
}

// ncclHeader returns the line of column names. The argument `both` is true if the first row
// has both placements.
func ncclHeader(both bool) string {
	names := func(columns string) string {
		if both {
			return columns + columns
		}
		return columns
	}
	return "#\n#                                                              out-of-place" + map[bool]string{true: "                       in-place"}[both] +
		"\n#       size         count      type   redop    root" + names("     time   algbw   busbw #wrong") + "\n#        (B)    (elements)                          " + names("     (us)  (GB/s)  (GB/s)       ") + "\n"
}

// plainLine puts a text on one line, so that a file name cannot add lines.
func plainLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ncclSide is one of a row's two placements.
type ncclSide struct {
	Time    json.RawMessage `json:"time"`
	CPUTime json.RawMessage `json:"cpu_time"`
	Alg     json.RawMessage `json:"alg_bw"`
	Bus     json.RawMessage `json:"bus_bw"`
	Wrong   json.RawMessage `json:"nwrong"`
}

func (s *ncclSide) text() string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	for _, raw := range []string{cmp.Or(string(s.Time), string(s.CPUTime)), string(s.Alg), string(s.Bus), string(s.Wrong)} {
		v := strings.Trim(raw, `"`)
		switch v {
		case "", "null", "nan":
			v = "N/A"
		}
		if f, err := strconv.ParseFloat(v, 64); err == nil && len(v) > longNumber {
			v = strconv.FormatFloat(f, 'g', 9, 64)
		}
		fmt.Fprintf(&b, " %20s", strings.TrimSuffix(v, ".0"))
	}
	return b.String()
}

// longNumber is the largest number of digits that a table holds. These tools write fewer.
const longNumber = 15

// ncclRows converts the results to rows of the table. It does not read the measurements per
// iteration, because the text has only their means.
func ncclRows(d *json.Decoder, out *bytes.Buffer) error {
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return fmt.Errorf("%w: its results are no list", peers.ErrFormat)
	}
	for first := true; d.More(); first = false {
		var r struct {
			Size  json.Number `json:"size"`
			Count json.Number `json:"count"`
			Type  string      `json:"type"`
			Op    string      `json:"redop"`
			Root  any         `json:"root"`
			Out   *ncclSide   `json:"out_of_place"`
			In    *ncclSide   `json:"in_place"`
		}
		if err := d.Decode(&r); err != nil {
			return cutJSON(err)
		}
		if first {
			out.WriteString(ncclHeader(r.In != nil))
		}
		fmt.Fprintf(out, "%20s %20s %20s %20s %20s%s%s\n", r.Size, r.Count, plainLine(r.Type), plainLine(r.Op), plainLine(fmt.Sprint(r.Root)), r.Out.text(), r.In.text())
	}
	if _, err := d.Token(); err != nil {
		return cutJSON(err)
	}
	return nil
}

// footerOf writes the lines that nccl-tests prints below its table.
func footerOf(fields map[string]json.RawMessage, out *bytes.Buffer) {
	var bounds struct {
		Count json.Number `json:"count"`
		OK    any         `json:"okay"`
	}
	if json.Unmarshal(fields["out_of_bounds"], &bounds) == nil && bounds.Count != "" {
		verdict := "OK"
		if fmt.Sprint(bounds.OK) != "true" {
			verdict = "FAILED"
		}
		fmt.Fprintf(out, "# Out of bounds values : %s %s\n", bounds.Count, verdict)
	}
	var average struct {
		Bandwidth json.Number `json:"bandwidth"`
	}
	if json.Unmarshal(fields["average_bus_bandwidth"], &average) == nil && average.Bandwidth != "" {
		fmt.Fprintf(out, "# Avg bus bandwidth    : %s\n", average.Bandwidth)
	}
}
