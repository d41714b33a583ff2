package shell_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/shell"
)

// recorder is what bash calls in the place of a program that it does not find: all of them.
const recorder = `
command_not_found_handle() {
  case $1 in srun|sbatch) ;; *) printf '%s\0' "$#" "$@" >> "$CALLS";; esac
  case $1 in
    srun) while [ $# -gt 0 ]; do case $1 in bash) "$@"; return;; esac; shift; done;;
    sbatch) bash;;
    tee|cat) while read -r; do :; done;;
  esac
  return 0
}
cd() { :; }
`

// bash is what the real bash starts, in a folder of its own where it finds no program. The test is skipped without bash.
func bash(t *testing.T, script string, args []string, set map[string]string) [][]string {
	t.Helper()
	program, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	require.NoError(t, os.Symlink(program, filepath.Join(dir, "bin", "bash")))
	for name, text := range map[string]string{"env": recorder, "script.sh": script, "calls": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"script.sh"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin"), "BASH_ENV=" + filepath.Join(dir, "env"), "CALLS=" + calls}
	for name, value := range set {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	_ = cmd.Run() // its status is the script's
	text, err := os.ReadFile(calls)
	require.NoError(t, err)
	words := strings.Split(string(text), "\x00")
	var all [][]string
	for i := 0; i < len(words)-1; {
		n, err := strconv.Atoi(words[i])
		require.NoError(t, err)
		all = append(all, words[i+1:i+1+n])
		i += 1 + n
	}
	return all
}

// read is what Read says that the script starts, without what bash drops.
func read(t *testing.T, script string, args []string, set map[string]string) [][]string {
	t.Helper()
	got, err := shell.Read(script, shell.Given{Args: args, Set: set})
	require.NoError(t, err)
	var all [][]string
	for _, c := range got.Commands {
		var words []string
		for _, a := range c.Args {
			if !a.Gone {
				words = append(words, a.Text)
			}
		}
		all = append(all, words)
	}
	return all
}

// scripts are of our own: several constructs each, as training scripts have them.
var scripts = map[string]struct {
	text string
	args []string
	set  map[string]string
}{
	"defaults": {text: "TP=${1:-2}\nMBS=$2\nSEQ=${SEQ-4096}\n: ${GBS:=64}\ntorchrun train.py --tp $TP --mbs ${MBS} --seq \"$SEQ\" --gbs $GBS ${NONE:+--none} ${TP:+--some}\n"},
	"given":    {"TP=${1:-2}\nMBS=$2\ntorchrun train.py --tp $TP --mbs ${MBS} \"${@:3}\" ${10} $#\n", []string{"8", "1", "a b", "4", "5", "6", "7", "8", "9", "ten"}, nil},
	"arrays": {text: `A=(--bf16 --lr "1e 5" 'x y' [0]*3+[1]*58)
A+=(--more $((3 * 8)) "${NONE[@]}")
B=("${A[@]}" --last)
declare -A M=([k]=v)
torchrun train.py "${B[@]}" ${#B[@]} "${B[*]}" ${B[1]} ${M[k]}
`},
	"strings": {text: `OPTS=" --zero \
  --overlap"
OPTS+=" --more"
OPTS="$OPTS --x ${OPTS##* } ${OPTS%% *}y ${OPTS/zero/one} ${OPTS:2:4} ${#OPTS}"
run_cmd="torchrun train.py ${OPTS} --layer '([0]*3)'"
echo ${run_cmd}
eval ${run_cmd}
`},
	"conditions": {"if [ $1 = fast ]; then A=--fast; elif [[ -z $2 ]]; then A=--no; else A=--slow; fi\ncase $1 in f*) B=--f;; *) B=--other;; esac\n(( $2 > 1 )) && C=--many || C=--few\n[ -z $NONE ] && D=--none\n[[ $NONE == true ]] || E=--off\ntest \"$X\" != a && F=--f\ntorchrun t.py $A $B $C $D $E $F\n", []string{"fast", "2"}, nil},
	"functions":  {text: "run() { local n=$1; shift; torchrun t.py --n $n \"$@\" ${OPT}; return 0; }\nOPT=--o\nrun 4 a \"b c\" $NONE\nfor i in 1 2 3; do [ $i -eq 2 ] && continue; run $i; done\nn=0; while [ $n -lt 2 ]; do n=$((n+1)); python loop.py $n; done\nuntil true; do python never.py; done\nfor ((i = 0; i < 2; i++)); do python c.py $i; done\n"},
	"shells":     {text: "export A=1\nB=2\nsrun -l bash -c \"torchrun t.py --a \\$A --b \\$B --b2 $B\"\nbash -xc 'python t.py $1' x y\n(C=3; python sub.py $C)\npython after.py $C\n{ D=4; python block.py $D; }\nX=5 python own.py $X\n"},
	"pipes":      {text: "torchrun t.py --a 2>&1 | tee log.txt\nV=1 | cat\npython p.py $V > out.txt < /dev/null\n! python q.py && python r.py\npython s.py || python t.py\n"},
	"documents":  {text: "cat <<EOF\n--not $1\nEOF\nN=8\nsbatch <<EOF\n#!/bin/bash\ntorchrun t.py --n $N --m \\$M\nEOF\nsbatch <<'EOF'\nM=3\ntorchrun t.py --n $N --m $M\nEOF\n"},
	"exits":      {text: "set -e\n[ -f none.py ] || OK=--no\nif [ ! -f other.py ]; then python found.py $OK; fi\nfalse || true\nexit 0\npython never.py\n"},
	"braces":     {text: "torchrun t.py {a,b}{1..3} --x={1,2} \"{a,b}\" $'tab\\there' a\\ b\n"},
	"indirect":   {text: "NAME=VALUE_X\nVALUE_X=7\ntorchrun t.py ${!NAME} ${NAME,,} ${NAME^}\nunset NAME\ntorchrun t.py \"$NAME\" $NAME end\n", set: map[string]string{"OUTSIDE": "1"}},
	"outside":    {"torchrun t.py --e $E --f ${F:-d} --g ${G:?needed} $((E * 2)) $((E > 1 ? 8 : 4))\n", nil, map[string]string{"E": "4", "G": "x"}},
}

// What is read is what bash starts.
func TestReadsAsBashRuns(t *testing.T) {
	for name, s := range scripts {
		t.Run(name, func(t *testing.T) {
			want, got := bash(t, s.text, s.args, s.set), read(t, s.text, s.args, s.set)
			if name == "pipes" { // bash starts both ends of a pipe at once
				require.ElementsMatch(t, want, got)
				return
			}
			require.Equal(t, want, got)
		})
	}
	// What bash would not find in a test it runs in the place of the script.
	require.Equal(t, [][]string{{"torchrun", "t.py"}}, read(t, "exec torchrun t.py\npython never.py\n", nil, nil))
}
