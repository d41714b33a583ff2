package plan

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
)

// Times are seconds. As text they are the base64 of little-endian float64: half as long as decimal
// numbers, and many times faster for the leader to read.
type Times []float64

// MarshalText packs the times.
func (t Times) MarshalText() ([]byte, error) {
	raw, _ := binary.Append(nil, binary.LittleEndian, []float64(t)) // an encoding error is impossible for numbers
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText unpacks times. A packed number need not be finite.
func (t *Times) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("times that cannot be read: %w", err)
	}
	if len(raw)%8 != 0 {
		return fmt.Errorf("times of %d bytes: a time has 8", len(raw))
	}
	*t = make(Times, len(raw)/8)
	_, err = binary.Decode(raw, binary.LittleEndian, []float64(*t))
	return err
}

// Joined merges several reports that only have times: the times of each process follow the times of
// the previous process. All processes have the same number of times.
type Joined struct {
	Seconds Times `json:"seconds,omitempty"`
	// Hold is the longest hold, which is all that the leader needs. StartedEarly is true if it is true
	// for any process.
	Hold         float64 `json:"hold,omitempty"`
	StartedEarly bool    `json:"started_early,omitempty"`
}

// Joined returns the report as a Joined of one process. It returns false if the report has other
// content besides times.
func (r Report) Joined() (Joined, bool) {
	j := Joined{Seconds: r.Seconds, Hold: r.Hold, StartedEarly: r.StartedEarly}
	return j, r.Failure == nil && !r.Stop && r.Budget == Room{} && r.IDs == nil && r.Facts == nil && r.NICs == nil && r.Parts == nil &&
		r.Unverifiable == "" && r.Verified.zero()
}

// With appends the reports of more processes.
func (j Joined) With(more Joined) Joined {
	return Joined{slices.Concat(j.Seconds, more.Seconds), max(j.Hold, more.Hold), j.StartedEarly || more.StartedEarly}
}

// Split returns the reports of the n processes. Each report has the longest hold.
func (j Joined) Split(n int) ([]Report, error) {
	if n < 1 || len(j.Seconds)%n != 0 || j.Hold < 0 {
		return nil, fmt.Errorf("a report of %d processes with %d times and a hold of %g s", n, len(j.Seconds), j.Hold)
	}
	each := len(j.Seconds) / n
	all := make([]Report, n)
	for i := range all {
		all[i] = Report{Hold: j.Hold, StartedEarly: j.StartedEarly}
		if each > 0 {
			all[i].Seconds = j.Seconds[i*each : (i+1)*each : (i+1)*each]
		}
		all[i] = all[i].bounded()
	}
	return all, nil
}
