package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// rccl-tests -Z json writes the same rows as -Z csv, as a list. In 2024 it wrote one object per
// line.

func init() {
	register(Format{
		Name: "rccl-tests-json", Title: "the JSON of rccl-tests -Z", Holds: Curve, rank: 35, Use: useImport,
		recognise: func(head []byte) bool {
			return (begins(head, '{') || begins(head, '[')) && has(head, `"numCycle"`)
		},
		curve: rewritten(textOfRCCL),
	})
}

// textOfRCCL converts the JSON to the CSV of the same run. It keeps the data before a damaged
// place; the error says where the text ends.
func textOfRCCL(r io.Reader) ([]byte, error) {
	in := bufio.NewReader(r)
	head, _ := in.Peek(Head)
	d, list := decoder(in), begins(bytes.TrimPrefix(head, []byte("\ufeff")), '[')
	if list {
		_, _ = d.Token() // the function begins has already found the bracket
	}
	out := bytes.NewBufferString(rcclHeader)
	for !list || d.More() {
		var row rcclRow
		err := d.Decode(&row)
		switch {
		case errors.Is(err, io.EOF) && !list:
			return out.Bytes(), nil
		case err != nil:
			return out.Bytes(), cutJSON(err)
		}
		row.write(out)
	}
	if _, err := d.Token(); err != nil {
		return out.Bytes(), cutJSON(err)
	}
	return out.Bytes(), nil
}

const rcclHeader = "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,#wrong\n"

type rcclRow struct {
	Cycle   json.RawMessage `json:"numCycle"`
	Name    string          `json:"name"`
	Nodes   json.RawMessage `json:"nodes"`
	Ranks   json.RawMessage `json:"ranks"`
	PerNode json.RawMessage `json:"ranksPerNode"`
	GPUs    json.RawMessage `json:"gpusPerRank"`
	Alone   json.RawMessage `json:"gpus"`
	Size    json.RawMessage `json:"size"`
	Type    string          `json:"type"`
	Op      string          `json:"redop"`
	InPlace json.RawMessage `json:"inPlace"`
	Time    json.RawMessage `json:"time"`
	Alg     json.RawMessage `json:"algBw"`
	Bus     json.RawMessage `json:"busBw"`
	Wrong   json.RawMessage `json:"wrong"`
	Wrong24 json.RawMessage `json:"#wrong"`
}

// lacking replaces a missing value. It is not a valid cell, so the reader of the CSV counts the row
// as left out.
const lacking = "?"

// write writes a row as rccl-tests' CSV does: 14 values under 13 names.
func (r *rcclRow) write(out *bytes.Buffer) {
	value := func(raw json.RawMessage, none string) string {
		if s := strings.Trim(string(raw), `"`); s != "" && s != "null" {
			return s
		}
		return none
	}
	ranks := value(r.Ranks, value(r.Alone, "0"))
	fmt.Fprintf(out, "%s,%q,%s,%s,%s,%s,%s,%q,%q,%s,%s,%s,%s,%q\n", value(r.Cycle, "0"), r.Name, value(r.Nodes, "1"), ranks, value(r.PerNode, ranks), value(r.GPUs, "1"),
		value(r.Size, lacking), cmp.Or(r.Type, lacking), cmp.Or(r.Op, lacking), value(r.InPlace, lacking), value(r.Time, "N/A"), value(r.Alg, "N/A"), value(r.Bus, "N/A"), value(r.Wrong, value(r.Wrong24, "N/A")))
}
