package launch

import (
	"strings"

	"zbench/bench/plain"
)

// String is the command as a shell takes it. Variables that differ between the
// processes of a node stand before it; secrets do not.
func (l Line) String() string {
	var words []string
	for _, v := range l.Set {
		if l.Shown(v) {
			words = append(words, v.Name+"="+plain.Shell(v.Value))
		}
	}
	return strings.Join(append(words, plain.Shell(l.Argv...)), " ")
}

// Shown tells that String has the variable: it is one of a local process.
func (l Line) Shown(v Var) bool {
	local := len(l.Argv) > 0 && l.Argv[0] != "srun" && l.Argv[0] != "mpirun"
	return local && !v.Secret
}
