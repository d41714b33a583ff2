package shell_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/shell"
)

func is(err error, all ...error) bool {
	return slices.ContainsFunc(all, func(one error) bool { return errors.Is(err, one) })
}

// missing is what the words of the only command lack.
func missing(t *testing.T, script string, given shell.Given) (words []string, lacks [][]string, got shell.Reading) {
	t.Helper()
	got, err := shell.Read(script, given)
	require.NoError(t, err)
	require.Len(t, got.Commands, 1)
	for _, a := range got.Commands[0].Args {
		words, lacks = append(words, a.Text), append(lacks, a.Missing)
	}
	return words, lacks, got
}

// What has no value is named where it is used, through assignments, arrays, functions, eval and shells.
func TestMissingIsNamed(t *testing.T) {
	for script, want := range map[string]string{
		"t $X":                              "$X",
		"t $1":                              "$1",
		"t ${12}":                           "$12",
		"A=$1; t $A":                        "$A ($1)",
		"A=$1; B=\"$A\"; t ${B}":            "$B ($A ($1))",
		"A=(--x $1); t ${A[1]}":             "$1",
		"O=\"--x $X\"; c=\"t $O\"; eval $c": "$X",
		"f() { t $1; }; f \"$X\"":           "$X",
		"t $(nproc)":                        "$(nproc)",
		"N=`nproc`; t $N":                   "$N ($(nproc))",
		"t $((X * 8))":                      "$X",
		"t $(( ${TOKENS} / ${X} ))":         "$X",
		"t ${X%.*}":                         "$X",
		"t ${X:?}":                          "$X",
		"t $HOME/x":                         "$HOME",
		"export X; bash -c 't $X'":          "$X",
		"Y=1; bash -c 't $Y'":               "$Y",
		"local X=$1; declare -x Y=$Z; t $Y": "$Y ($Z)",
	} {
		_, lacks, _ := missing(t, script, shell.Given{Set: map[string]string{"TOKENS": "5"}})
		require.Equal(t, []string{want}, lacks[len(lacks)-1], script)
	}
	_, lacks, _ := missing(t, "X=5; Y=$X; t ${N:-4} ${M-$X} $X ${#X} $((X*2)) ${X:0:1} \"$@\" $# $?", shell.Given{})
	for _, l := range lacks {
		require.Empty(t, l)
	}
}

// What a condition tests without a value is named, and what has a value is not.
func TestConditionsAreNamed(t *testing.T) {
	_, _, got := missing(t, `X=1
if [ $A = x ]; then :; fi; [[ -z "$B" ]] && case $C in a) ;; esac; (( D > 1 )); [ $X = 1 ] && [[ $X ]]; E=$1; test "$E" = y
[ $(nproc) -gt 8 ]; [ -f some.json ]; [ $((F / 2)) -gt 1 ]; t`, shell.Given{})
	require.Equal(t, []string{"$(nproc)", "$A", "$B", "$C", "$D", "$E ($1)", "$F", "the file some.json"}, got.Conditions)
}

// --set gives what a script does not set itself, also where it sets it from something without a value.
func TestGivenVariables(t *testing.T) {
	given := shell.Given{Set: map[string]string{"TP": "8", "OWN": "1", "N": "4"}}
	words, lacks, _ := missing(t, "OWN=2; N=$(nproc); t $TP $OWN $N $((N*2)) ${TP:-1}", given)
	require.Equal(t, []string{"t", "8", "2", "4", "8", "8"}, words)
	require.Equal(t, make([][]string, 6), lacks)
}

func TestSplit(t *testing.T) {
	words, err := shell.Split("dsw 'a b' \"c\" d\\ e")
	require.NoError(t, err)
	require.Equal(t, []string{"dsw", "a b", "c", "d e"}, words)
	_, err = shell.Split("a; b")
	require.Error(t, err)
	words, err = shell.Split(" ")
	require.NoError(t, err)
	require.Empty(t, words)
}
