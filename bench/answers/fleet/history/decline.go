package history

import (
	"math"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// The limits assume that healthy checks of one component differ by a standard deviation of Sigma.
// A noisier component raises its own limits.
const (
	// Sigma is the assumed standard deviation between checks, as a share of the figure.
	Sigma = 0.01
	// Window is the largest number of earlier checks that a figure is compared with. Least is the smallest
	// number.
	Window = 30
	Least  = 10
	// Separate is the number of newest checks that must all show a sudden loss. Lasting is the number of
	// newest checks that show a small loss together.
	Separate = 3
	Lasting  = 15

	// The newest check must show gateLoss, as a share; only then are the other losses computed. For a
	// sudden loss, each of the newest checks must show leastLoss, and their median must show suddenLoss.
	// For a lasting loss, the mean of the middle half of the newest checks must show lastingLoss. The
	// …Sigmas are the same limits in robust standard deviations of the kind.
	gateLoss                   = 0.02
	leastLoss, leastSigmas     = 0.03, 3.1
	suddenLoss, suddenSigmas   = 0.054, 5.4
	lastingLoss, lastingSigmas = 0.027, 3.0
	// fallenLoss is the smallest loss that the components of a kind must show together, as a share.
	fallenLoss, fallenSigmas = 0.015, 3.3
)

// Loss is the loss of a figure against its own past.
type Loss struct {
	// Lost is the missing share, 0 to 1. Before is the centre of the earlier checks. Now is the centre of
	// the checks that show the loss. Before and Now are in the figure's unit.
	Lost, Before, Now float64
	// Checks is the number of checks that show the loss. Of is the number of earlier checks in the
	// comparison.
	Checks, Of int
}

// Below compares the newest checks of figures of one kind with their own earlier checks. Each series has
// the figures of one component, oldest first. It returns a Loss for each series; the Loss has 0 checks if
// the series shows no loss.
func Below(series [][]float64) []Loss {
	out := make([]Loss, len(series))
	for i, s := range series {
		past := before(s, Separate)
		if len(past) < Least || !loses(past, s[len(s)-1], gateLoss) {
			continue
		}
		for _, n := range []int{Separate, Lasting} {
			if l := loss(s, n); l.Checks > 0 && beyond(s, l, pooled(series)) {
				out[i] = l
				break
			}
		}
	}
	return out
}

// Confirms reports whether a longer measurement of the component shows at least 40 % of a loss.
func (l Loss) Confirms(rate float64) bool { return 1-rate/l.Before >= 0.4*l.Lost }

// `before` returns the window of checks that precedes the newest n checks.
func before(s []float64, n int) []float64 {
	end := max(len(s)-n, 0)
	return s[max(end-Window, 0):end]
}

// loses reports whether a figure is below the median of other figures by a share. It counts the larger
// figures, because that is faster than computing the median.
func loses(of []float64, figure, share float64) bool {
	limit, above := figure/(1-share), 0
	for _, v := range of {
		if v > limit {
			above++
		}
	}
	return 2*above > len(of)
}

// loss compares the newest n checks with the checks before them. It applies only the limits of a quiet
// component.
func loss(s []float64, n int) Loss {
	past := before(s, n)
	if len(past) < Least {
		return Loss{}
	}
	recent := s[len(s)-n:]
	centre, least := middle, lastingLoss
	if n == Separate {
		centre, least = median, suddenLoss
		if slices.ContainsFunc(recent, func(v float64) bool { return !loses(past, v, leastLoss) }) {
			return Loss{}
		}
	}
	l := Loss{Before: centre(past), Now: centre(recent), Checks: n, Of: len(past)}
	if l.Lost = 1 - l.Now/l.Before; l.Lost < least {
		return Loss{}
	}
	return l
}

func median(of []float64) float64 { return stat.Quantile(of, 0.5) }

// `beyond` reports whether a loss is also above the limits that follow from its kind's spread.
func beyond(s []float64, l Loss, spread float64) bool {
	if l.Checks == Lasting {
		return l.Lost >= lastingSigmas*spread
	}
	past, recent := before(s, Separate), s[len(s)-Separate:]
	return l.Lost >= suddenSigmas*spread && !slices.ContainsFunc(recent, func(v float64) bool { return !loses(past, v, leastSigmas*spread) })
}

// middle returns the mean of the middle half. Outliers do not move this mean, and it varies less than the
// median.
func middle(of []float64) float64 {
	s := slices.Sorted(slices.Values(of))
	cut := len(s) / 4
	return stat.Mean(s[cut : len(s)-cut])
}

// pooled returns the robust standard deviation of the earlier checks of all series of a kind. The checks of
// each series are divided by the median of that series. A single component has too few checks for a precise
// deviation. The factor raises the deviation if there are few checks in all.
func pooled(series [][]float64) float64 {
	var off []float64
	for _, s := range series {
		past := before(s, Separate)
		if len(past) < Least {
			continue
		}
		usual := median(past)
		off = append(off, slice.Map(past, func(v float64) float64 { return math.Abs(v/usual - 1) })...)
	}
	return (1 + 4/float64(len(off))) * 1.4826 * median(off)
}

// Fallen reports whether the components of a kind are together below their past in the newest check, as
// after a driver change that no version shows. Many components together reveal a smaller loss than one
// component can.
func Fallen(series [][]float64) bool {
	var lost, newest []float64
	var pasts [][]float64
	gate := 0
	for _, s := range series {
		past := before(s, Lasting)
		if len(past) < Least {
			past = before(s, Separate)
		}
		if len(past) < Least {
			continue
		}
		pasts = append(pasts, past)
		newest = append(newest, s[len(s)-1])
		if loses(past, s[len(s)-1], fallenLoss) {
			gate++
		}
	}
	if 2*gate <= len(pasts) {
		return false
	}
	for i, past := range pasts {
		lost = append(lost, 1-newest[i]/median(past))
	}
	return median(lost) >= fallenSigmas*pooled(series)/math.Sqrt(float64(len(lost)))
}

// togetherShare is the share of the nodes above which a change belongs to the fleet.
const togetherShare = 0.05

// Together reports whether so many nodes of a fleet have fallen, this node included, that the cause is not
// a single node.
func Together(fallen, nodes int) bool {
	return fallen >= 2 && float64(fallen) > togetherShare*float64(nodes)
}
