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

// TokenVariable is the variable with the secret of a run. The processes obey anyone who knows the
// secret.
const TokenVariable = "ZBENCH_TOKEN"

// ControlVariable is set to "stdin" by a zbench that starts other processes. The world's first
// process then stops when it reads a line, or the end, from standard input. mpirun and srun pass on
// standard input, but not every signal.
const ControlVariable = "ZBENCH_CONTROL"

// tokenBytes is the length of the secret in bytes.
const tokenBytes = 32

// NewToken makes a secret of 32 random bytes as 64 hexadecimal digits.
func NewToken(random io.Reader) (string, error) {
	secret := make([]byte, tokenBytes)
	if _, err := io.ReadFull(random, secret); err != nil {
		return "", fmt.Errorf("no random bytes for %s: %w", TokenVariable, err)
	}
	return hex.EncodeToString(secret), nil
}

// CheckToken returns an error if NewToken cannot have made the secret. The error does not show the
// secret.
func CheckToken(text string) error {
	if secret, err := hex.DecodeString(text); err != nil || len(secret) != tokenBytes {
		return fmt.Errorf("%s is not a secret of zbench: it has %d hexadecimal digits", TokenVariable, 2*tokenBytes)
	}
	return nil
}

// HostToken returns the token of a run whose processes are all on one host. Each process derives it
// from the user's secret on that host and from the leader's address, which differs between runs.
func HostToken(secret []byte, r Role) (string, error) {
	token, err := hkdf.Key(sha256.New, secret, nil, "zbench run at "+r.Leader.String(), tokenBytes)
	return hex.EncodeToString(token), err
}

// OneHost reports whether all processes of the world are on this host, according to the launcher.
func (r Role) OneHost() bool { return r.Kind == Rank && r.Size > 0 && r.LocalSize == r.Size }

// TokenLines returns the two command lines that start the processes again with a common token.
func (r Role) TokenLines(args []string) []string {
	start := fmt.Sprintf(starts[r.By], r.Size)
	return []string{"export " + TokenVariable + "=$(zbench token)", strings.TrimSpace(start + " zbench " + plain.Shell(args...))}
}

// The texts in `starts` are the beginnings of the launchers' commands; "…" stands for the user's
// options. Only Open MPI needs to be given the variables to pass on.
var starts = map[string]string{
	"mpirun (Open MPI)": "mpirun -np %d -x " + TokenVariable + " …",
	"mpiexec (MPICH)":   "mpiexec -n %d …",
	slurmName:           "srun --ntasks=%d …",
	"torchrun":          "torchrun … --no-python",
	scriptName:          "",
}
