package plan

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Times are seconds. As text they are the base64 of little-endian float64: half as long
// as decimal numbers, and the leader reads them many times faster.
type Times []float64

// MarshalText packs the times.
func (t Times) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 8*len(t))
	for _, s := range t {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(s))
	}
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
	*t = make(Times, 0, len(raw)/8)
	for one := range slices.Chunk(raw, 8) {
		*t = append(*t, math.Float64frombits(binary.LittleEndian.Uint64(one)))
	}
	return nil
}

// timesOnly reports whether a report says nothing that the leader needs by process but
// its times.
func (r Report) timesOnly() bool {
	return r.Failure == nil && !r.Stop && r.Budget == Room{} && r.IDs == nil && r.Facts == nil && r.NICs == nil &&
		r.Unverifiable == "" && r.Verified == Verification{}
}

// Joinable reports whether reports of several processes can travel as one: all have the
// same number of times, and nothing else that belongs to one process.
func Joinable(all []Report) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(r Report) bool {
		return !r.timesOnly() || len(r.Seconds) != len(all[0].Seconds)
	})
}

// Join is the one report of several processes that are Joinable: the times of one after
// those of the other, and the longest hold, which is all that the leader needs of holds.
func Join(all []Report) (joined Report) {
	for _, r := range all {
		joined.Seconds = append(joined.Seconds, r.Seconds...)
		joined.Hold = max(joined.Hold, r.Hold)
		joined.StartedEarly = joined.StartedEarly || r.StartedEarly
	}
	return joined
}

// Split is the inverse of Join. Each of the n reports has the longest hold.
func (r Report) Split(n int) ([]Report, error) {
	if n == 1 {
		return []Report{r}, nil
	}
	if n < 1 || !r.timesOnly() || len(r.Seconds)%n != 0 {
		return nil, fmt.Errorf("a report with %d times is not that of %d processes", len(r.Seconds), n)
	}
	each := len(r.Seconds) / n
	all := make([]Report, n)
	for i := range all {
		all[i] = Report{Seconds: r.Seconds[i*each : (i+1)*each : (i+1)*each], Hold: r.Hold, StartedEarly: r.StartedEarly}
		if each == 0 {
			all[i].Seconds = nil
		}
	}
	return all, nil
}
