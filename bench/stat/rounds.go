package stat

// MostRounds bounds a batch of work that takes next to no time.
const MostRounds = 1 << 14

// Rounds warms up and returns how many rounds of some work make a batch that takes
// batch seconds or more. run does so many rounds and returns the seconds they took.
// The first run is not counted: what is loaded, chosen or made once is in it, and
// may take longer than a batch. It goes on until warm seconds of work are done, the
// last of them in batches of the size that is returned.
func Rounds(batch, warm float64, run func(rounds int) (float64, error)) (int, error) {
	if _, err := run(1); err != nil {
		return 0, err
	}
	rounds := 1
	for spent := 0.0; ; {
		seconds, err := run(rounds)
		if err != nil {
			return 0, err
		}
		spent += seconds
		switch {
		case seconds < batch && rounds < MostRounds:
			grow := 16.0
			if seconds > 0 {
				grow = min(grow, 1.2*batch/seconds)
			}
			rounds = min(MostRounds, max(rounds+1, int(float64(rounds)*grow)))
		case spent >= warm || seconds < batch:
			return rounds, nil
		}
	}
}
