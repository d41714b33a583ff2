package gpu

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

//go:embed peers.py
var peersPy []byte

// figures are seconds by case.
type figures map[string]float64

// side is one of those compared; it is run once a turn.
type side struct {
	name string
	// run notes in said why a case has no figure.
	run func(said map[string]string) (figures, error)
}

// errAbsent is wrapped where a peer is not on this machine.
var errAbsent = errors.New("not here")

// errLate is what is left of a side when the time is over.
var errLate = errors.New("the time was over (LIMIT)")

// turns are one side's figures, a slice over the turns by case, and why there are
// none.
type turns struct {
	asked   int
	of      map[string][]float64
	said    map[string]string
	missing error
}

// alternate runs the sides by turns, another one first each time: what else the
// machine does comes and goes. A side that failed is not run again.
func alternate(ctx context.Context, n int, sides ...side) map[string]*turns {
	all := map[string]*turns{}
	for _, s := range sides {
		all[s.name] = &turns{asked: n, of: map[string][]float64{}, said: map[string]string{}}
	}
	for i := range n {
		for k := range sides {
			s := sides[(i+k)%len(sides)]
			t := all[s.name]
			if t.missing == nil && ctx.Err() != nil {
				t.missing = errLate
			}
			if t.missing != nil {
				continue
			}
			f, err := s.run(t.said)
			t.missing = err
			for name, v := range f {
				t.of[name] = append(t.of[name], v)
			}
		}
	}
	return all
}

// have is a case's seconds, and why there are none or a side that gave some failed. Fewer turns
// than asked are enough where the time was over.
func (t *turns) have(name string) ([]float64, string) {
	v := t.of[name]
	if len(v) > 0 && (len(v) == t.asked || errors.Is(t.missing, errLate)) {
		return v, ""
	}
	why := t.why()
	switch {
	case t.said[name] != "":
		why = t.said[name]
	case why == "":
		why = "it gave no figure"
	}
	if len(v) > 0 {
		why = fmt.Sprintf("%d of %d turns: %s", len(v), t.asked, why)
	}
	return v, why
}

// why says what ended a side before its last turn; nothing where nothing did.
func (t *turns) why() string {
	switch {
	case t.missing == nil:
		return ""
	case errors.Is(t.missing, errAbsent) || errors.Is(t.missing, errLate):
		return t.missing.Error()
	}
	return "it failed: " + t.missing.Error()
}

// against is a finding of one case by two sides. What zbench lacks is a miss: it
// must run; what the peer lacks is not checked.
func against(row, what string, ours, peer *turns, ourCase, peerCase string, bar, target float64) finding {
	o, failed := ours.have(ourCase)
	p, missing := peer.have(peerCase)
	f := compared(row, what, o, p, bar, target)
	f.asked = ours.asked
	if len(p) == 0 {
		f.missing = missing
	}
	if failed != "" {
		f.failed = "zbench: " + failed
	}
	return f
}

// output runs a program and returns what it printed; the error has its last words.
func output(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...) //nolint:gosec // the programs that were named
	c.Env = append(os.Environ(), env...)
	// A compiler's helpers may hold the pipes when the time is over.
	c.Cancel, c.WaitDelay = func() error { return c.Process.Signal(syscall.SIGTERM) }, 5*time.Second
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	err := c.Run()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errAbsent, err)
	}
	if c.ProcessState != nil && name == os.Getenv("ZBENCH") && slices.Contains([]int{3, 6}, c.ProcessState.ExitCode()) {
		err = nil // a slow or unclear GPU has times, too
	}
	if err != nil && ctx.Err() != nil {
		return out.Bytes(), errLate
	}
	if err != nil {
		return out.Bytes(), fmt.Errorf("%w: %s", err, lastWords(out.String()+"\n"+said.String()))
	}
	return out.Bytes(), nil
}

// lastWords are zbench's own error where there is one, else the last line.
func lastWords(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range slices.Backward(lines) {
		if said, found := strings.CutPrefix(line, "zbench: "); found {
			return said
		}
	}
	return lines[len(lines)-1]
}

// zbench runs the binary, in a folder of its own, and returns its results.json.
func zbench(ctx context.Context, folder string, args ...string) ([]byte, error) {
	to := filepath.Join(folder, "out")
	args = append(args, strings.Fields(os.Getenv("ZBENCH_FLAGS"))...)
	if _, err := output(ctx, nil, os.Getenv("ZBENCH"), append(args, "--out", to, "-q")...); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(to, "results.json"))
}

// babelStream is the shortest time of each kernel, as its headline has it.
func babelStream(ctx context.Context, bytesOfArray int64) (figures, error) {
	program := os.Getenv("BABELSTREAM")
	if program == "" {
		return nil, fmt.Errorf("%w: BABELSTREAM names no program", errAbsent)
	}
	out, err := output(ctx, nil, program, "-s", strconv.FormatInt(bytesOfArray/8, 10), "--csv")
	if err != nil {
		return nil, err
	}
	f := figures{}
	for line := range strings.Lines(string(out)) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		if len(cells) < 8 {
			continue
		}
		if v, err := strconv.ParseFloat(cells[5], 64); err == nil {
			f[strings.ToLower(cells[0])] = v
		}
	}
	if len(f) == 0 {
		return nil, fmt.Errorf("%s printed no rows", filepath.Base(program))
	}
	return f, nil
}

// torch is the side of peers.py for cases such as "norm:32768x4096". A figure is
// called "peer case".
func torch(ctx context.Context, t *testing.T, cases ...string) side {
	return side{"torch", func(said map[string]string) (figures, error) {
		return runPeers(ctx, t, said, cases...)
	}}
}

func runPeers(ctx context.Context, t *testing.T, said map[string]string, cases ...string) (figures, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "peers.py")
	if err := os.WriteFile(file, peersPy, 0o600); err != nil {
		return nil, err
	}
	// Else a compiler's many helpers work while figures are taken.
	env := []string{"TORCHINDUCTOR_COMPILE_THREADS=1"}
	if liger := os.Getenv("LIGER"); liger != "" {
		env = append(env, "PYTHONPATH="+liger+":"+os.Getenv("PYTHONPATH"))
	}
	out, err := output(ctx, env, setting("PYTHON", "python3"), append([]string{file}, cases...)...)
	f, wrong := readPeers(out, said)
	return f, errors.Join(err, wrong)
}

// readPeers reads what peers.py prints, between what its libraries may print:
// figure,PEER,CASE,SECONDS and missing,PEER,CASE,WHY and with,WHAT.
func readPeers(text []byte, said map[string]string) (figures, error) {
	f := figures{}
	for line := range strings.Lines(string(text)) {
		cells, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil {
			continue
		}
		switch {
		case len(cells) == 4 && cells[0] == "figure":
			v, err := strconv.ParseFloat(cells[3], 64)
			if err != nil || !(v > 0) {
				return f, fmt.Errorf("peers.py: %q is no time", cells[3])
			}
			f[cells[1]+" "+cells[2]] = v
		case len(cells) == 4 && cells[0] == "missing":
			said[cells[1]+" "+cells[2]] = cells[3]
		case len(cells) == 2 && cells[0] == "with":
			ranWith(cells[1])
		}
	}
	return f, nil
}
