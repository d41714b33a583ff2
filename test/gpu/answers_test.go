package gpu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"zbench/bench/run/record"
)

// noDevice is zbench's exit code where there is no device or library.
const noDevice = 5

// answers tells why nothing can be compared, before minutes go by; nil also where
// no zbench is named. What else may be wrong is for the rows to say.
func answers() error {
	if os.Getenv("ZBENCH") == "" {
		return nil
	}
	folder, err := os.MkdirTemp("", "gpu-compare")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx := context.Background()
	text, err := zbench(ctx, folder, "hbm", "--dtype", "float64", "--kernels", "copy", "--size", setting("SIZE", "8M"), "--max-time", "0.01")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == noDevice {
		return fmt.Errorf("%s: %w", lacking(ctx), err)
	}
	if rec, e := record.Decode(bytes.NewReader(text)); err == nil && e == nil {
		return onGPU(rec)
	}
	return nil
}

// lacking says what hbm exited for, by what doctor finds: a library that is
// missing, else a GPU.
func lacking(ctx context.Context) string {
	args := append([]string{"doctor", "--format", "json"}, strings.Fields(os.Getenv("ZBENCH_FLAGS"))...)
	text, _ := output(ctx, nil, os.Getenv("ZBENCH"), args...) // it exits with 5 as well
	var report struct {
		Backends []struct {
			Libraries []struct{ Role, Name, Path string }
		}
	}
	if json.Unmarshal(text, &report) != nil || len(report.Backends) != 1 {
		return "no GPU, or a library is missing"
	}
	var missing []string
	for _, l := range report.Backends[0].Libraries {
		if l.Path == "" && l.Role != "collectives" { // nccl-tests' row says that by itself
			missing = append(missing, l.Name)
		}
	}
	if len(missing) > 0 {
		return "a library is missing (" + strings.Join(missing, ", ") + "; zbench doctor says where it was looked for)"
	}
	return "no GPU"
}
