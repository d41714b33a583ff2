package collective

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Skew describes how unequally ranks receive data in an Uneven collective. Every rank divides its
// data by these weights among all ranks, as tokens are divided among experts. An empty Skew means
// equal weights. With zipf:S the k-th rank has the weight 1/k^S. Any other Skew lists one weight
// per rank, separated by commas.
type Skew string

const (
	uniform = "uniform"
	zipf    = "zipf:"
	// maxExponent is the largest S of zipf:S. With a larger S one rank would receive everything.
	maxExponent = 8
)

// ReadSkew reads uniform, zipf:S, or weights separated by commas or white space.
func ReadSkew(text string) (Skew, error) {
	if text == uniform || text == "" {
		return "", nil
	}
	if exponent, of := strings.CutPrefix(text, zipf); of {
		if s, err := strconv.ParseFloat(exponent, 64); err != nil || !(s > 0) || s > maxExponent {
			return "", fmt.Errorf("skew %q: zipf: takes a number above 0 and at most %d, such as zipf:1.2", text, maxExponent)
		}
		return Skew(text), nil
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	sum := 0.0
	for _, word := range words {
		w, err := strconv.ParseFloat(word, 64)
		if sum += w; err != nil || !(w >= 0) || math.IsInf(sum, 0) {
			return "", fmt.Errorf("skew: %q is not a weight: numbers from 0, one for each rank", word)
		}
	}
	if sum == 0 {
		return "", fmt.Errorf("skew: no rank has a weight above 0")
	}
	return Skew(strings.Join(words, ",")), nil
}

// String returns the skew's name, or empty text for equal weights.
func (s Skew) String() string {
	switch {
	case s == "":
		return ""
	case strings.HasPrefix(string(s), zipf):
		return "skew " + string(s)
	}
	return "skew of a file"
}

// Counts divides elements of elt bytes among n ranks. Shares are multiples of 16 bytes; the rank
// with the largest share also gets the remainder. Counts returns nil unless there is one weight per
// rank.
func (s Skew) Counts(elements int64, n, elt int) []int64 {
	weights := make([]float64, n)
	exponent, _ := strconv.ParseFloat(strings.TrimPrefix(string(s), zipf), 64) // 0 means equal weights
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -exponent)
	}
	if s != "" && !strings.HasPrefix(string(s), zipf) {
		words := strings.Split(string(s), ",")
		if len(words) != n {
			return nil
		}
		for i, word := range words {
			weights[i], _ = strconv.ParseFloat(word, 64) // ReadSkew has checked the weight
		}
	}
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	counts, piece, left := make([]int64, n), max(1, int64(shareAlign/elt)), elements
	for i, w := range weights {
		counts[i] = min(int64(float64(elements)*(w/sum))/piece*piece, left)
		left -= counts[i]
	}
	counts[slices.Index(weights, slices.Max(weights))] += left
	return counts
}
