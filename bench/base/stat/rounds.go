package stat

// MostRounds is the largest number of rounds in a batch of very short work.
const MostRounds = 1 << 14

// Rounds warms up some work and returns how many rounds take at least batch seconds. The function run
// executes a number of rounds and returns their time in seconds. The first round does not count,
// because it includes one-time loading and selection, which can take longer than a batch. warm is the
// least time of the warm-up, in seconds. The last runs of the warm-up are batches of the returned
// size.
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
