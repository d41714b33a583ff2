package rendezvous

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// closing counts how often it is closed.
type closing struct{ closed, number int }

func (c *closing) Close() error {
	c.closed++
	return nil
}

// There are never more than there is room for; those that had to leave are the oldest, each
// closed once, and are told so.
func TestCrowd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &crowd{room: rapid.IntRange(1, 4).Draw(t, "room")}
		var in, out []*closing
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0: // one has proved itself
				if len(in) > 0 {
					i := rapid.IntRange(0, len(in)-1).Draw(t, "which")
					require.True(t, c.leave(in[i].number))
					require.False(t, c.leave(in[i].number))
					require.Zero(t, in[i].closed)
					in = append(in[:i], in[i+1:]...)
				}
			case 1: // no file is left
				c.drop()
				if len(in) > 0 {
					in, out = in[1:], append(out, in[0])
				}
			default:
				one := &closing{}
				one.number = c.enter(one)
				if in = append(in, one); len(in) > c.room {
					in, out = in[1:], append(out, in[0])
				}
			}
			require.Len(t, c.in, len(in))
			for _, one := range in {
				require.Zero(t, one.closed)
			}
		}
		for _, one := range out {
			require.Equal(t, 1, one.closed)
			require.False(t, c.leave(one.number))
		}
	})
}
