// Package scripts holds the script that builds the loopback's shared libraries, for
// `zbench loopback`, which runs it on a machine without the sources.
package scripts

import _ "embed"

// Loopback is loopback.sh. It expects to lie in a folder beside internal/native, whose
// files are native.Sources.
//
//go:embed loopback.sh
var Loopback []byte
