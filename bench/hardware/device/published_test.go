package device

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kernelsPublished are the streams of hbm: a rate by another name is drawn
// beside nothing.
var kernelsPublished = []string{"read", "write", "copy", "scale", "add", "triad", "dot"}

// Every row names a device of the table, a source and a date, and gives a rate
// that the device's memory can have: at least half of its published peak and not
// more than all of it, so that neither a unit nor a device was mistaken.
func TestPublishedFiguresAreWhole(t *testing.T) {
	require.NotEmpty(t, published())
	for _, p := range published() {
		at := slices.IndexFunc(All(), func(d Device) bool { return d.Name == p.Device })
		require.GreaterOrEqual(t, at, 0, "%s is not in the table of devices", p.Device)
		known := All()[at]
		require.NotEmpty(t, p.Tool)
		require.Greater(t, len(p.Source), 20, "%s: a source that can be found", p.Device)
		require.Regexp(t, `\b20[0-9]{2}\b`, p.Date)
		for kernel, rate := range p.Rates {
			require.Contains(t, kernelsPublished, kernel)
			part := rate / known.Bandwidth
			require.True(t, part > 0.5 && part <= 1, "%s %s: %.3g B/s is %.0f %% of the peak", p.Device, kernel, rate, 100*part)
		}
	}
	require.NotEmpty(t, PublishedFor("MI300X"))
	require.Empty(t, PublishedFor("a potato"))
}

func TestReadPublishedRefuses(t *testing.T) {
	good := "- {device: d, tool: t, rates: {copy: 4e12}, source: s, date: 2026}\n"
	_, err := readList[Published]([]byte(good))
	require.NoError(t, err)
	for _, change := range [][2]string{{"source: s", "source: ''"}, {"date: 2026", "date: ''"}, {"4e12", "4000"}, {"tool: t", "tol: t"}, {"{copy: 4e12}", "{}"}} {
		_, err := readList[Published]([]byte(strings.Replace(good, change[0], change[1], 1)))
		require.Error(t, err, change[1])
	}
}
