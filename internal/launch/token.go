package launch

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"zbench/bench/base/plain"
)

// TokenVariable has the secret of a run: its processes obey whoever knows it.
const TokenVariable = "ZBENCH_TOKEN"

// ControlVariable is set to "stdin" by a zbench that starts others: a line on the standard input of
// the world's first process, or its end, asks it to stop. mpirun and srun pass on standard input,
// but not every signal.
const ControlVariable = "ZBENCH_CONTROL"

// tokenBytes is the length of the secret.
const tokenBytes = 32

// NewToken makes a secret of 32 random bytes as 64 hexadecimal digits.
func NewToken(random io.Reader) (string, error) {
	secret := make([]byte, tokenBytes)
	if _, err := io.ReadFull(random, secret); err != nil {
		return "", fmt.Errorf("no random bytes for %s: %w", TokenVariable, err)
	}
	return hex.EncodeToString(secret), nil
}

// CheckToken refuses a secret that NewToken cannot make. The error does not show it.
func CheckToken(text string) error {
	if secret, err := hex.DecodeString(text); err != nil || len(secret) != tokenBytes {
		return fmt.Errorf("%s is not a secret of zbench: it has %d hexadecimal digits", TokenVariable, 2*tokenBytes)
	}
	return nil
}

// HostToken returns the token of a run with all processes on one host: each derives it from their
// user's secret there and from the leader's address, which differs between runs.
func HostToken(secret []byte, r Role) (string, error) {
	token, err := hkdf.Key(sha256.New, secret, nil, "zbench run at "+r.Leader.String(), tokenBytes)
	return hex.EncodeToString(token), err
}

// OneHost reports whether the launcher says that all processes of the world are on this host.
func (r Role) OneHost() bool { return r.Kind == Rank && r.Size > 0 && r.LocalSize == r.Size }

// TokenLines are the two command lines that start the processes again, with a common token.
func (r Role) TokenLines(args []string) []string {
	start := fmt.Sprintf(starts[r.By], r.Size)
	return []string{"export " + TokenVariable + "=$(zbench token)", strings.TrimSpace(start + " zbench " + plain.Shell(args...))}
}

// starts are the beginnings of launchers' commands; "…" stands for the user's options. Only Open
// MPI must be told the variables to pass on.
var starts = map[string]string{
	"mpirun (Open MPI)": "mpirun -np %d -x " + TokenVariable + " …",
	"mpiexec (MPICH)":   "mpiexec -n %d …",
	slurmName:           "srun --ntasks=%d …",
	"torchrun":          "torchrun … --no-python",
	scriptName:          "",
}
