package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/shell"
)

// hostile scripts run without end, grow without end, or reach for the machine. FILE is a file that must not appear.
var hostile = map[string]string{
	"endless":               "while true; do :; done",
	"endless without words": "while [[ 1 ]]; do x=1; done",
	"endless until":         "until false; do echo; done",
	"endless for":           "for ((;;)); do x=$((x+1)); done",
	"endless condition":     "while x=1; do y=2; done",
	"fork bomb":             ":(){ :|:& };:",
	"recursion":             "f() { f; }; f",
	"recursion of shells":   "f() { bash -c \"$1\" x \"$1\"; }; export -f f; A='bash -c \"$A\"'; export A; bash -c \"$A\"",
	"recursion of eval":     "x='eval \"$x\"'; eval \"$x\"",
	"doubling":              strings.Repeat("x=$x${x:-aaaaaaaa}$x\n", 60) + "torchrun $x",
	"doubling array":        "a=(1 2 3)\n" + strings.Repeat("a=(\"${a[@]}\" \"${a[@]}\")\n", 60),
	"many uses":             "x=aaaaaaaaaaaaaaaa\nx=" + strings.Repeat("$x", 30_000),
	"replacement":           strings.Repeat("x=aaaaaaaaaaaaaaaa$x\n", 100) + "y=${x//a/$x}; z=${y//a/$y}; torchrun ${z//a/$z}",
	"braces":                "torchrun {1..1000000000}",
	"braces of braces":      "torchrun " + strings.Repeat("{a,b}", 40),
	"width":                 "printf '%1000000000d' 1; x=$(printf '%1000000000d' 1); printf -v y '%1000000000d' 1",
	"open brackets":         strings.Repeat("(", 100_000),
	"open substitutions":    strings.Repeat("$(", 50_000),
	"open arithmetic":       "x=$((" + strings.Repeat("(", 50_000),
	"negations":             strings.Repeat("! ", 50_000),
	"open ifs":              strings.Repeat("if true; then ", 8_000),
	"yes":                   "yes | head; yes | while read x; do :; done",
	"touch":                 "touch FILE; bash -c 'touch FILE'; /usr/bin/touch FILE; exec touch FILE",
	"redirection":           "echo > FILE; cat < FILE; : >> FILE; exec > FILE; echo x | tee FILE; { echo; } &> FILE; x=$(echo > FILE); torchrun 3>FILE",
	"source":                "source FILE; . /dev/tcp/127.0.0.1/1; source <(touch FILE); exec 3<>/dev/tcp/127.0.0.1/1",
	"substitutions":         "x=$(touch FILE); y=`touch FILE`; diff <(touch FILE) >(touch FILE); z=$(<FILE)",
	"traps":                 "trap 'touch FILE; while [[ 1 ]]; do x=1; done' EXIT ERR INT; false; kill -9 $$",
	"background":            "while true; do x=1; done & torchrun & wait; coproc torchrun; disown",
	"input":                 "read x; mapfile a; select s in a b; do :; done; cat; while read -r l; do :; done; read -t 1000",
	"aliases":               "shopt -s expand_aliases; alias t='touch FILE'; t; builtin eval 'touch FILE'; command touch FILE; env touch FILE",
	"indirection":           "x=x; echo $((x)) ${!x}; declare -n r=r; echo $r; unset x; y=${!x}; a[99999999]=1; torchrun ${a[@]}",
	"arithmetic":            "echo $((1/0)) $((1<<-1)) $((2**2**62)) $((9223372036854775807+1)) $((-9223372036854775808/-1)); ((1%0)); let 1/0",
	"options":               "set -n; set -u; echo $none; set -o posix; ulimit -n 1; umask 0",
	"home":                  "torchrun ~root ~nobody/x ~+ ~- $HOME $UID $RANDOM $$ $PPID $HOSTNAME",
	"globs":                 "torchrun /* /etc/p*d; for f in /*; do python $f; done; cd /; ls *; [ -f /etc/passwd ] && touch FILE; [[ -e / ]]; test -r /",
	"names":                 "command -v bash; type bash; hash bash; which bash; times; help; dirs; pushd /; popd",
}

// A hostile script ends, starts no process and opens no file.
func TestHostileScripts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made")
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			got, err := shell.Read(strings.ReplaceAll(text, "FILE", file), shell.Given{Args: []string{"1"}})
			if err != nil {
				require.True(t, is(err, shell.ErrLimit, shell.ErrSyntax), err)
			}
			require.NoFileExists(t, file)
			for _, c := range got.Commands {
				for _, a := range c.Args {
					require.NotContains(t, a.Text, "root:", "a file was read")
					home, err := os.UserHomeDir()
					require.NoError(t, err)
					require.NotContains(t, a.Text, home+"/", "the machine was asked")
				}
			}
		})
	}
	for _, name := range []string{"endless", "endless without words", "endless until", "endless for", "endless condition", "fork bomb", "recursion", "recursion of eval", "doubling", "doubling array", "braces", "braces of braces", "many uses"} {
		_, err := shell.Read(hostile[name], shell.Given{})
		require.ErrorIs(t, err, shell.ErrLimit, name)
	}
}

// What was read before the limit stands.
func TestLimitKeepsWhatWasRead(t *testing.T) {
	got, err := shell.Read("torchrun t.py\nwhile true; do x=1; done\npython never.py\n", shell.Given{})
	require.ErrorIs(t, err, shell.ErrLimit)
	require.Len(t, got.Commands, 1)
}
