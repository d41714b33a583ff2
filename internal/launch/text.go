package launch

import "strings"

// String is the command as a shell takes it. Variables that differ between the
// processes of a node stand before it; secrets do not.
func (l Line) String() string {
	var words []string
	for _, v := range l.Set {
		if l.Shown(v) {
			words = append(words, v.Name+"="+quoted(v.Value))
		}
	}
	for _, a := range l.Argv {
		words = append(words, quoted(a))
	}
	return strings.Join(words, " ")
}

// Shown tells that String has the variable: it is one of a local process.
func (l Line) Shown(v Var) bool {
	local := len(l.Argv) > 0 && l.Argv[0] != "srun" && l.Argv[0] != "mpirun"
	return local && !v.Secret
}

// safe are the characters that a shell takes as they are.
const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^"

// quoted is a word for a shell.
func quoted(word string) string {
	if word != "" && strings.Trim(word, safe) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
