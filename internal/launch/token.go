package launch

import (
	"encoding/hex"
	"fmt"
	"io"
)

// TokenVariable has the secret of a run: its processes take orders from who knows it.
const TokenVariable = "ZBENCH_TOKEN"

// ControlVariable is set to "stdin" by a zbench that starts others: a line on the standard
// input of the first process of the world, or its end, asks that one to stop. mpirun and
// srun pass standard input on, but not every signal.
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

// CheckToken refuses a secret that NewToken does not make. The error does not show it.
func CheckToken(text string) error {
	if secret, err := hex.DecodeString(text); err != nil || len(secret) != tokenBytes {
		return fmt.Errorf("%s is not a secret of zbench: it has %d hexadecimal digits", TokenVariable, 2*tokenBytes)
	}
	return nil
}
