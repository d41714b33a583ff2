package native

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// told makes a provider's compilations tasks, as with a vendor's compiler, and
// collects what is told.
func told(p *Provider) *[]string {
	var list []string
	p.compiler.tasks = compilations{tell: func(t Task) { list = append(list, t.String()) }}
	return &list
}

func load(t *testing.T, p *Provider, devices ...int) {
	t.Helper()
	f, err := p.LoadFunctions(devices)
	require.NoError(t, err)
	f.Close()
}

// Kernels that are compiled are told and counted; those that the cache has are
// counted and not told.
func TestTasksOfCompilation(t *testing.T) {
	n := &notes{kept: map[string][]byte{}}
	p := loopback(t, n)
	list := told(p)
	load(t, p, 0, 1, 0)
	require.Equal(t, []string{"compiling delay.hip for MI300X (1 of 2)", "", "compiling verify.hip for MI300X (2 of 2)", ""}, *list, "the second device is of the same kind")
	list = told(p)
	load(t, p, 0, 1)
	require.Empty(t, *list, "all are from the cache")
	for key, code := range n.kept {
		n.kept = map[string][]byte{key: code}
		break
	}
	list = told(p)
	load(t, p, 0, 1)
	require.Len(t, *list, 2, "one is from the cache")
	require.Regexp(t, `^compiling (delay.hip for MI300X \(1|verify.hip for MI300X \(2) of 2\)$`, (*list)[0])
}

// A second device of a kind does not move the numbers of the next kind's.
func TestTasksOfSeveralKinds(t *testing.T) {
	var last string
	c := compilations{tell: func(t Task) { last = t.String() }, of: 2}
	for _, key := range []string{"a", "a", "b"} {
		c.count(key, true)
	}
	c.begin(order{CompileRequest: CompileRequest{File: "verify.hip", Arch: "gfx90a"}})
	require.Equal(t, "compiling verify.hip for gfx90a (2 of 2)", last)
}

// Without a cache each device has its own. What was not announced has no number.
func TestTasksWithoutCache(t *testing.T) {
	p := loopback(t, nil)
	list := told(p)
	load(t, p, 0, 1)
	require.Equal(t, []string{
		"compiling delay.hip for MI300X (1 of 4)", "", "compiling verify.hip for MI300X (2 of 4)", "",
		"compiling delay.hip for MI300X (3 of 4)", "", "compiling verify.hip for MI300X (4 of 4)", "",
	}, *list)
	_, err := p.compiler.Compile(CompileRequest{File: "stream.hip"})
	require.NoError(t, err)
	require.Equal(t, []string{"compiling stream.hip", ""}, (*list)[8:])
}

// The built-in loopback compiles nothing: its kernels are in the binary.
func TestTasksOfTheLoopback(t *testing.T) {
	p, err := Open(Choice{Backend: "loopback", Machine: loopbackMachine(t), Progress: func(Task) { t.Fatal("no task") }})
	require.NoError(t, err)
	defer p.Close()
	load(t, p, 0, 1)
}
