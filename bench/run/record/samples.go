package record

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"zbench/bench/base/jsonfile"
)

// SamplesSchema names the version of the format of samples.json, which
// schema/samples-v1.json describes.
const SamplesSchema = "zbench.samples/1"

// SamplesSchemaJSON is the JSON Schema of samples.json.
//
//go:embed schema/samples-v1.json
var SamplesSchemaJSON []byte

// SamplesIndex is samples.json: the index of samples.f32, which only has little-endian float32
// values in seconds per launch.
type SamplesIndex struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Run is the id of the record's run; absent in files of earlier versions.
	Run string `json:"run,omitempty" jsonschema:"pattern=^[0-9a-f]{32}$"`
	// Values is the SHA-256 of samples.f32, in hexadecimal; absent in files of earlier versions.
	Values string `json:"values_sha256,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$"`
	// One entry per series, in the order of the file.
	Series []SampleSeries `json:"series"`
}

// Names of series. SeriesRanks has the intervals of all ranks, launch by launch, including
// discarded launches.
const (
	SeriesBurstMean   = "burst_mean_of_ranks"
	SeriesBurstMax    = "burst_max_of_ranks"
	SeriesIsolatedMax = "isolated_max_of_ranks"
	SeriesSpread      = "isolated_spread"
	SeriesRanks       = "isolated_by_rank"
)

// SampleSeries is one kind of sample of one pass of a case, in order of time.
type SampleSeries struct {
	// Key of the case.
	Key string `json:"key" jsonschema:"minLength=1"`
	// Pass, from 0.
	Pass int `json:"pass"`
	// Kind of sample; isolated_by_rank has the intervals of all ranks, launch by launch, including
	// discarded launches.
	Series string `json:"series"`
	// Number of values before the first one, from the start of the file.
	Offset int `json:"offset"`
	// Number of values.
	Count int `json:"count" jsonschema:"minimum=1"`
	// Values that belong to one launch or burst.
	Width int `json:"width" jsonschema:"minimum=1"`
}

// WriteSamples writes the samples of a record's parts to values, and their positions to index. The
// samples are in the order of the results, and for each case in the order of the passes.
func WriteSamples(values, index io.Writer, rec *Record, parts []Part) error {
	x := SamplesIndex{Schema: SamplesSchema, Run: rec.Run, Series: []SampleSeries{}}
	byKey := ByKey(parts)
	var all []byte
	for _, r := range rec.Results {
		for _, p := range byKey[r.Key] {
			all = x.add(all, r, p)
		}
	}
	sum := sha256.Sum256(all)
	x.Values = hex.EncodeToString(sum[:])
	if _, err := values.Write(all); err != nil {
		return fmt.Errorf("record: write samples: %w", err)
	}
	return jsonfile.Write(index, "record: samples", x)
}

// CheckSamples returns a warning if the samples beside a record are not the samples that zbench
// wrote with it. It returns nil if they are, or if files of their version do not show it. index
// and values are samples.json and samples.f32.
func CheckSamples(rec *Record, index, values []byte) *Warning {
	const hint = "do not use them; journal.jsonl has the same samples"
	var x SamplesIndex
	sum := sha256.Sum256(values)
	switch {
	case json.Unmarshal(index, &x) != nil || x.Schema != SamplesSchema:
		return &Warning{CodeEdited, "samples.json is damaged: it is no index of samples", hint}
	case jsonfile.Edited(index):
		return &Warning{CodeEdited, "samples.json was edited after zbench wrote it: its content does not fit its checksum", hint}
	case x.Run != "" && x.Run != rec.Run:
		return &Warning{CodeEdited, "samples.json is of another run than the record", hint}
	case x.Values != "" && x.Values != hex.EncodeToString(sum[:]):
		return &Warning{CodeEdited, "samples.f32 was edited after zbench wrote it: its values do not fit the checksum in samples.json", hint}
	}
	return nil
}

// add appends a part's samples to the values and to the index.
func (x *SamplesIndex) add(all []byte, r Result, p Part) []byte {
	put := func(name string, width int, packed []byte) {
		if len(packed) > 0 {
			x.Series = append(x.Series, SampleSeries{p.Key, p.Pass, name, len(all) / 4, len(packed) / 4, width})
			all = append(all, packed...)
		}
	}
	if b := p.Burst; b != nil {
		put(SeriesBurstMean, 1, pack(b.Mean))
		put(SeriesBurstMax, 1, pack(b.Max))
	}
	if b := p.Isolated; b != nil {
		put(SeriesIsolatedMax, 1, pack(b.Max))
		put(SeriesSpread, 1, pack(b.Spread))
		put(SeriesRanks, r.Ranks, b.Ranks)
	}
	return all
}

// pack returns the values as little-endian float32.
func pack(values []float64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return b
}
