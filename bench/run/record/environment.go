package record

import (
	"path"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/hardware/backend"
)

// libraryVariables are the variables that the libraries below zbench read: RCCL and NCCL, the
// runtimes of AMD and NVIDIA, the network. Variables with secret names are not kept.
var (
	libraryVariables = pattern.New(`^(NCCL|` + backend.Text("|", func(v backend.Vendor) string { return strings.Join(v.Prefixes, "|") }) + `|UCX|FI|IONIC|ANP)_[A-Z0-9_]+$`)
	secret           = pattern.New(`TOKEN|SECRET|PASS|CREDENTIAL|_KEY`)
)

// Environment reads variables given as NAME=value and returns the variables that affect the
// libraries; nil if there are none. It only keeps the last part of a path, because a record must
// not carry a machine's paths.
func Environment(environ []string) map[string]string {
	var out map[string]string
	for _, text := range environ {
		name, value, _ := strings.Cut(text, "=")
		if !libraryVariables.MatchString(name) || secret.MatchString(name) {
			continue
		}
		if strings.HasPrefix(value, "/") {
			value = path.Base(value)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out
}
