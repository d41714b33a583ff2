package native_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/collective"
	"zbench/bench/fabric"
	"zbench/bench/spec"
	"zbench/internal/native"
)

// A world of so many ranks is driven by one driver, by one in each of several threads
// of this process, or by one in each of several processes.
const (
	sharedRanks = 16
	sharedBytes = 1 << 16
)

// sharedMachine is two nodes of eight GPUs, one GPU a modelled process, with noise, exit
// jitter and the given faults.
func sharedMachine(t testing.TB, faults ...string) []byte {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}, fabric.Options{Seed: 3, Faults: faults, Groups: []int{4}})
	require.NoError(t, err)
	return m.Text()
}

// driven is one driver: the ranks first to first+count of the world.
type driven struct {
	p            *native.Provider
	f            *native.Functions
	streams      []native.Stream
	arenas       []native.Buffer
	comms        []native.Comm
	b            *native.Batch
	first, count int
	// base is the number of its device 0 in the world.
	base int
}

func drive(o native.Options, first, count int) (*driven, error) {
	p, err := native.Open(o)
	if err != nil {
		return nil, err
	}
	d := &driven{p: p, first: first, count: count}
	if o.Share != nil {
		d.base = o.Share.First
	}
	for i := range count {
		s, err := p.NewStream(d.device(i))
		if err != nil {
			return nil, err
		}
		// Buffers of a send and a receive, then 64 bytes to align on and to check with.
		a, err := p.Alloc(d.device(i), 2*sharedBytes+64)
		if err != nil {
			return nil, err
		}
		d.streams, d.arenas = append(d.streams, s), append(d.arenas, a)
	}
	d.f, err = p.LoadFunctions(d.devices(0, count))
	return d, err
}

func (d *driven) device(i int) int { return d.first + i - d.base }

func (d *driven) devices(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, d.device(i))
	}
	return list
}

// join puts the driver's ranks into communicators of size neighbours, whose ids are given
// in order.
func (d *driven) join(size int, ids []native.UniqueID) error {
	d.comms = nil
	d.b = d.p.NewBatch(d.count)
	for i := 0; i < d.count; {
		rank := d.first + i
		n := min(size-rank%size, d.count-i)
		comms, err := d.p.InitComms(ids[rank/size], size, rank%size, d.devices(i, i+n))
		if err != nil {
			return err
		}
		for k, c := range comms {
			a := func(offset int64) native.Address { return native.Address{Buffer: d.arenas[i+k], Offset: offset} }
			d.b.SetRank(i+k, native.Rank{
				Device: d.device(i + k), Number: (rank + k) % size, Ranks: size, Comm: c, Stream: d.streams[i+k],
				Send: a(0), Recv: a(sharedBytes), Sync: a(2 * sharedBytes), Found: a(2*sharedBytes + 32),
			})
		}
		d.comms = append(d.comms, comms...)
		i += n
	}
	d.b.UseFunctions(d.f)
	return d.b.MakeEvents()
}

func (d *driven) leave() {
	d.b.Close()
	for _, c := range d.comms {
		_ = d.p.FreeComm(c)
	}
}

func (d *driven) close() {
	d.f.Close()
	for i := range d.streams {
		_ = d.p.FreeStream(d.streams[i])
		_ = d.p.Free(d.arenas[i])
	}
	d.p.Close()
}

// told is what came of one run: the seconds of the driver's ranks by launch, to the last
// bit, or how the run failed and how far each rank got.
type told struct {
	Run     string
	Seconds [][]string
	Failed  string
	Ranks   []native.Progress
}

func (d *driven) tell(run string, seconds []float64, err error) told {
	out := told{Run: run}
	if err != nil {
		out.Failed = err.Error()
		if hang, ok := errors.AsType[*native.HangError](err); ok {
			out.Failed, out.Ranks = fmt.Sprintf("local rank %d, deadline: %v", hang.Rank, hang.Timeout()), hang.Ranks
		}
		return out
	}
	for at := 0; at+d.count <= len(seconds); at += d.count {
		var row []string
		for _, s := range seconds[at : at+d.count] {
			row = append(row, fmt.Sprintf("%x", s))
		}
		out.Seconds = append(out.Seconds, row)
	}
	return out
}

// sharedCase is what is run of one collective on communicators of size ranks. meet brings
// all drivers together, as the leader's orders do.
func (d *driven) sharedCase(size int, name string, meet func(string)) (out []told, err error) {
	c, err := collective.ByName(name)
	if err != nil {
		return nil, err
	}
	float, err := collective.DtypeByName("float")
	if err != nil {
		return nil, err
	}
	op := ""
	if c.Reduces {
		op = "sum"
	}
	l := c.Layout(16<<10, size, float.Size)
	meet("begin " + name)
	d.p.BeginCase(uint64(size)<<8 + uint64(len(name))) //nolint:gosec // small
	err = d.b.SetWork(native.Work{Collective: name, Dtype: "float", Op: op, Count: l.Count, Slots: 1}, 20)
	if err != nil {
		return nil, err
	}
	seconds, err := d.b.WarmUp(5)
	out = append(out, d.tell(name+" warm-up", seconds, err))
	if err != nil {
		return out, nil //nolint:nilerr // it is what came of it
	}
	var expect []native.Expect
	for i := range d.count {
		want := c.Result((d.first+i)%size, size, 0)
		expect = append(expect, native.Expect{
			Fill: l.SendBytes / 4, Check: int64(want.Blocks) * l.Count, RecvBytes: l.RecvBytes, Reduced: c.Reduces,
			Block: l.Count, Base: int64(want.Base) * l.Count, Source: want.From, Step: want.Step,
		})
	}
	wrong, err := d.b.Verify(expect, 11)
	if err != nil {
		return nil, err
	}
	for _, w := range wrong {
		out = append(out, told{Run: fmt.Sprintf("%s: rank %d: %d wrong, at %d %x for %x", name, d.first+w.Rank, w.Count, w.Index, w.Got, w.Expected)})
	}
	seconds, err = d.b.Burst(7, 0)
	out = append(out, d.tell(name+" burst", seconds, err))
	seconds, err = d.b.Burst(3, 2)
	out = append(out, d.tell(name+" graph", seconds, err))
	seconds, err = d.b.Isolated(6, 1e-3)
	return append(out, d.tell(name+" isolated", seconds, err)), nil
}

// run runs all collectives on the whole world, and then on groups of four, and returns
// what its ranks tell.
func (d *driven) run(ids []native.UniqueID, meet func(string)) (out []told, err error) {
	for _, size := range []int{sharedRanks, 4} {
		meet(fmt.Sprintf("join %d", size))
		err := d.join(size, ids)
		if err != nil {
			return nil, err
		}
		ids = ids[sharedRanks/size:]
		names := native.Collectives()
		if size < sharedRanks {
			names = []string{"all_reduce", "send_recv"}
		}
		for _, name := range names {
			case1, err := d.sharedCase(size, name, meet)
			if err != nil {
				return nil, fmt.Errorf("%s of %d: %w", name, size, err)
			}
			out = append(out, case1...)
			if f := case1[0].Failed; f != "" {
				meet("end")
				return out, nil
			}
		}
		meet("leave")
		d.leave()
	}
	return out, nil
}

// sharedIDs are the ids of all communicators of a run. The loopback's are a number.
func sharedIDs(p *native.Provider) (ids []native.UniqueID, err error) {
	for range 1 + sharedRanks/4 {
		id, err := p.NewUniqueID()
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// inOne is what all ranks tell if one driver has them.
func inOne(t *testing.T, machine []byte) []told {
	t.Helper()
	d, err := drive(native.Options{Backend: "loopback", Machine: machine}, 0, sharedRanks)
	require.NoError(t, err)
	defer d.close()
	ids, err := sharedIDs(d.p)
	require.NoError(t, err)
	all, err := d.run(ids, func(string) {})
	require.NoError(t, err)
	return all
}

// part is what ranks first to first+count tell of a run of all.
func part(all []told, first, count int) (out []told) {
	for _, one := range all {
		var rank int
		if _, err := fmt.Sscanf(one.Run[strings.Index(one.Run, ":")+1:], " rank %d:", &rank); err == nil && (rank < first || rank >= first+count) {
			continue
		}
		var rows [][]string
		for _, row := range one.Seconds {
			rows = append(rows, row[first:first+count])
		}
		one.Seconds = rows
		if one.Failed != "" {
			one.Ranks = one.Ranks[first : first+count]
		}
		out = append(out, one)
	}
	return out
}

// meeting brings n goroutines together.
type meeting struct {
	mu      sync.Mutex
	n, here int
	open    chan struct{}
}

func (m *meeting) meet(string) {
	m.mu.Lock()
	if m.here++; m.here == m.n {
		close(m.open)
		m.here, m.open = 0, make(chan struct{})
		m.mu.Unlock()
		return
	}
	open := m.open
	m.mu.Unlock()
	<-open
}

// inThreads is what the ranks of each of n drivers in this process tell.
func inThreads(t *testing.T, n int, machine []byte) [][]told {
	t.Helper()
	out, errs := make([][]told, n), make([]error, n)
	m := &meeting{n: n, open: make(chan struct{})}
	count := sharedRanks / n
	first, err := native.Open(native.Options{Backend: "loopback", Machine: machine, Share: &native.Share{}})
	require.NoError(t, err)
	defer first.Close()
	ids, err := sharedIDs(first)
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			var d *driven
			if d, errs[i] = drive(native.Options{Backend: "loopback", Machine: machine, Share: &native.Share{}}, i*count, count); errs[i] != nil {
				return
			}
			defer d.close()
			out[i], errs[i] = d.run(ids, m.meet)
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return out
}

// child is what a process of a shared world is told in its environment.
type child struct {
	Machine      []byte
	File         string
	First, Count int
	IDs          []native.UniqueID
	// Do is "run", or the name of a part of its own.
	Do string
}

const childVariable = "ZBENCH_TEST_SHARE"

// TestShareChild is a process of a shared world. It writes "meet" to meet the others and
// goes on when it reads a line; its last line is what its ranks tell.
func TestShareChild(t *testing.T) {
	text := os.Getenv(childVariable)
	if text == "" {
		t.Skip("a process that other tests start")
	}
	var c child
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	d, err := drive(native.Options{Backend: "loopback", Machine: c.Machine, Share: &native.Share{File: c.File, First: c.First, Count: c.Count}}, c.First, c.Count)
	require.NoError(t, err)
	meet := func(where string) {
		fmt.Println("meet", where)
		var line string
		_, err := fmt.Scanln(&line)
		require.NoError(t, err)
	}
	out, err := childDoes[c.Do](d, c, meet)
	require.NoError(t, err)
	d.close()
	require.NoError(t, json.NewEncoder(os.Stdout).Encode(out))
}

var childDoes = map[string]func(d *driven, c child, meet func(string)) ([]told, error){
	"run": func(d *driven, c child, meet func(string)) ([]told, error) { return d.run(c.IDs, meet) },
}

// process is a started child.
type process struct {
	cmd   *exec.Cmd
	lines chan string
	write func(string) error
}

func startChild(t *testing.T, c child) *process {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestShareChild$", "-test.timeout=5m") //nolint:gosec // this test's own program
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	outPipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &process{cmd: cmd, lines: make(chan string, 1), write: func(s string) error {
		_, err := fmt.Fprintln(in, s)
		return err
	}}
	go func() {
		defer close(p.lines)
		lines := bufio.NewScanner(outPipe)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return p
}

// next is the process's next line that is for the test.
func (p *process) next(t *testing.T) string {
	t.Helper()
	for {
		select {
		case line, ok := <-p.lines:
			require.True(t, ok, "the process ended early")
			if strings.HasPrefix(line, "meet") || strings.HasPrefix(line, "[") || line == "null" {
				return line
			}
			t.Log(line)
		case <-time.After(2 * time.Minute):
			require.Fail(t, "a process says nothing")
		}
	}
}

// sharedFile is where the processes of a test meet.
func sharedFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "world")
}

// inProcesses is what the ranks of each of n processes tell.
func inProcesses(t *testing.T, n int, machine []byte) [][]told {
	t.Helper()
	var all []*process
	file, count := sharedFile(t), sharedRanks/n
	ids := make([]native.UniqueID, 1+sharedRanks/4)
	for i := range ids {
		copy(ids[i][:], fmt.Sprintf("zbl %d", i+1))
	}
	for i := range n {
		all = append(all, startChild(t, child{Machine: machine, File: file, First: i * count, Count: count, IDs: ids, Do: "run"}))
	}
	for {
		var last []string
		for _, p := range all {
			last = append(last, p.next(t))
		}
		if !strings.HasPrefix(last[0], "meet") {
			out := make([][]told, n)
			for i, line := range last {
				require.NoError(t, json.Unmarshal([]byte(line), &out[i]), line)
			}
			return out
		}
		for i, p := range all {
			require.Equal(t, last[0], last[i])
			require.NoError(t, p.write("on"))
		}
	}
}

// The figures, and what verification finds, are the same to the last bit whoever drives
// the ranks: one driver, threads, or processes; without faults and with those that
// change times, data, or the outcome.
func TestSharedWorldLeavesTheFiguresOfOne(t *testing.T) {
	for _, fault := range []string{
		"",
		"corrupt:node=1,gpu=1,index=7",
		"late_gpu:node=0,gpu=5,seconds=3e-5",
		"hang:node=1,gpu=2,bytes=1e3,launch=3",
		"async_error:node=0,gpu=3,bytes=1e3,launch=2",
	} {
		t.Run(fault, func(t *testing.T) {
			var faults []string
			if fault != "" {
				faults = append(faults, fault)
			}
			machine := sharedMachine(t, faults...)
			want := inOne(t, machine)
			require.NotEmpty(t, want)
			for how, got := range map[string][][]told{
				"8 threads":    inThreads(t, 8, machine),
				"4 processes":  inProcesses(t, 4, machine),
				"16 processes": inProcesses(t, 16, machine),
			} {
				for i, g := range got {
					count := sharedRanks / len(got)
					require.Equal(t, part(want, i*count, count), g, "%s: %d", how, i)
				}
			}
		})
	}
}
