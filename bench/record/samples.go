package record

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// SamplesSchema names the version of the format of samples.json, which
// schema/samples-v1.json describes.
const SamplesSchema = "zbench.samples/1"

// SamplesSchemaJSON is the JSON Schema of samples.json.
//
//go:embed schema/samples-v1.json
var SamplesSchemaJSON []byte

// SamplesIndex is samples.json: the index of samples.f32, which has only little-endian
// float32 values in seconds per launch.
type SamplesIndex struct {
	// Version of the format.
	Schema string `json:"schema"`
	// One entry per series, in the order of the file.
	Series []SampleSeries `json:"series"`
}

// Names of series. SeriesRanks has the intervals of all ranks, launch by launch,
// those of discarded launches too.
const (
	SeriesBurstMean   = "burst_mean_of_ranks"
	SeriesBurstMax    = "burst_max_of_ranks"
	SeriesIsolatedMax = "isolated_max_of_ranks"
	SeriesSpread      = "isolated_spread"
	SeriesRanks       = "isolated_by_rank"
)

// SampleSeries is one kind of sample of one pass of a case, in the order of time.
type SampleSeries struct {
	// Key of the case.
	Key string `json:"key" jsonschema:"minLength=1"`
	// Pass, from 0.
	Pass int `json:"pass"`
	// Kind of sample; isolated_by_rank has the intervals of all ranks, launch by launch,
	// those of discarded launches too.
	Series string `json:"series"`
	// Values before the first, from the start of the file.
	Offset int `json:"offset"`
	// Number of values.
	Count int `json:"count" jsonschema:"minimum=1"`
	// Values that belong to one launch or burst.
	Width int `json:"width" jsonschema:"minimum=1"`
}

// WriteSamples writes the samples of the parts to values, case by case in the
// order of the results and pass by pass, and where they lie to index.
func WriteSamples(values, index io.Writer, results []Result, parts []Part) error {
	x := SamplesIndex{Schema: SamplesSchema, Series: []SampleSeries{}}
	byKey := map[string][]Part{}
	for _, p := range parts {
		byKey[p.Key] = append(byKey[p.Key], p)
	}
	var all []byte
	for _, r := range results {
		for _, p := range byKey[r.Key] {
			all = x.add(all, r, p)
		}
	}
	if _, err := values.Write(all); err != nil {
		return fmt.Errorf("record: write samples: %w", err)
	}
	e := json.NewEncoder(index)
	e.SetIndent("", " ")
	if err := e.Encode(x); err != nil {
		return fmt.Errorf("record: write samples: %w", err)
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

// pack is the values as little-endian float32.
func pack(values []float64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return b
}
