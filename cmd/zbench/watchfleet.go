package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"zbench/bench/answers/fleet/history"
	"zbench/bench/answers/fleet/nodewatch"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// watchFleet is what a check knows about the other nodes.
type watchFleet struct {
	s      State
	o      *watchOptions
	host   string
	fallen func(kind string) (fallen, nodes int)
	doubts []string
}

// fallenMark is the content of a node's file in the shared folder. Its entries are the kinds of
// figures that have fallen, and the findings that would isolate the node. Each entry has the time
// until which it counts.
type fallenMark struct {
	Until map[string]time.Time `json:"until"`
}

// fallenFor is how long a fallen kind counts: until the next daily check of the node. If the whole
// fleet has fallen, the kind counts for excusedFor: until enough checks were made to compare the
// figures again.
const (
	fallenFor  = 36 * time.Hour
	excusedFor = 30 * 24 * time.Hour
)

func (o *watchOptions) fleet(s State, host string) *watchFleet {
	f := &watchFleet{s: s, o: o, host: host}
	if o.claims != "" {
		f.fallen = f.others
	}
	return f
}

func (f *watchFleet) mark(host string) string {
	return filepath.Join(f.o.claims, "nodes", host+".json")
}

// `others` returns the number of nodes on which a kind has fallen, including this node, and the
// number of all nodes.
func (f *watchFleet) others(kind string) (fallen, nodes int) {
	entries, err := f.s.FS.ReadDir(filepath.Join(f.o.claims, "nodes"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // no node has reported yet
		f.doubts = append(f.doubts, fmt.Sprintf("changes of the whole fleet: %s", err))
	}
	fallen, nodes = 1, 1
	for _, e := range entries {
		host, is := strings.CutSuffix(e.Name(), ".json")
		if !is || f.s.FS.IsTemporary(e.Name()) || host == f.host {
			continue
		}
		nodes++
		var m fallenMark
		if text, err := f.s.FS.ReadFile(f.mark(host)); err == nil && json.Unmarshal(text, &m) == nil && m.Until[kind].After(f.s.Now()) {
			fallen++
		}
	}
	return fallen, nodes
}

// report writes the file of this node. Unless the node is isolated, it also gives the node's claim
// back.
func (f *watchFleet) report(d *nodewatch.Document) {
	if f.o.claims == "" {
		return
	}
	m := fallenMark{Until: map[string]time.Time{}}
	if text, err := f.s.FS.ReadFile(f.mark(f.host)); err == nil && json.Unmarshal(text, &m) == nil && m.Until == nil {
		m.Until = map[string]time.Time{}
	}
	for kind, until := range m.Until {
		if !until.After(f.s.Now()) {
			delete(m.Until, kind)
		}
	}
	for _, kind := range d.Fallen {
		m.Until[kind] = f.s.Now().Add(fallenFor).UTC()
	}
	for _, x := range d.Findings {
		if x.Action == nodewatch.Isolate {
			m.Until[x.Code+" "+x.Subject] = f.s.Now().Add(fallenFor).UTC()
		}
	}
	for _, kind := range d.Excused {
		m.Until[kind] = f.s.Now().Add(excusedFor).UTC()
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = f.s.FS.MkdirAll(filepath.Dir(f.mark(f.host)))
	}
	if err == nil {
		err = f.s.FS.WriteFile(f.mark(f.host), text)
	}
	if err == nil && d.Action != nodewatch.Isolate {
		err = f.giveBack()
	}
	if err != nil {
		f.doubts = append(f.doubts, fmt.Sprintf("--claims: %s", err))
	}
}

// withheld returns the reason why the node must not be taken out of use. The text is empty if the
// node may be taken out of use.
func (f *watchFleet) withheld(ctx context.Context, d *nodewatch.Document) string {
	if f.o.claims != "" {
		first := d.Findings[0]
		if n, of := f.others(first.Code + " " + first.Subject); history.Together(n, of) {
			return fmt.Sprintf("%d of %d nodes have this finding together: look at the fleet, not at the node", n, of)
		}
		return f.claim(d.Reason)
	}
	return f.drain(ctx, d.Reason)
}

// `most` returns the largest number of nodes that may be out of use, at least one.
func (f *watchFleet) most(nodes int) int { return max(int(f.o.cap/100*float64(nodes)), 1) }

// claim takes one of the numbered files in the shared folder. A file is created atomically, so
// there are never more nodes out of use than there are numbers.
func (f *watchFleet) claim(reason string) string {
	dir := filepath.Join(f.o.claims, "claims")
	if err := f.s.FS.MkdirAll(dir); err != nil {
		return fmt.Sprintf("the cap cannot be checked: %s", err)
	}
	_, nodes := f.others("")
	most := f.most(nodes)
	for i := range most {
		name := filepath.Join(dir, fmt.Sprint(i))
		if f.owner(name) == f.host {
			return ""
		}
	}
	for i := range most {
		err := f.s.FS.Create(filepath.Join(dir, fmt.Sprint(i)), []byte(f.host+"\n"+reason+"\n"))
		switch {
		case err == nil:
			return ""
		case !errors.Is(err, fs.ErrExist):
			return fmt.Sprintf("the cap cannot be checked: %s", err)
		}
	}
	return fmt.Sprintf("the cap of %g %% is met: %d of %d nodes are out; claims are in %s", f.o.cap, most, nodes, dir)
}

// owner returns the host that made a claim, or empty text.
func (f *watchFleet) owner(name string) string {
	text, _ := f.s.FS.ReadFile(name)
	host, _, _ := strings.Cut(string(text), "\n")
	return host
}

// giveBack removes the claims of this node.
func (f *watchFleet) giveBack() error {
	dir := filepath.Join(f.o.claims, "claims")
	entries, err := f.s.FS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if name := filepath.Join(dir, e.Name()); f.owner(name) == f.host {
			err = errors.Join(err, f.s.FS.Remove(name))
		}
	}
	return err
}

// slurmNode is a node as sinfo lists it. It got its reason at the second `since`.
type slurmNode struct{ name, state, since, reason string }

func (n slurmNode) out() bool  { return strings.Contains(n.state, "drain") }
func (n slurmNode) ours() bool { return n.out() && strings.HasPrefix(n.reason, "zbench") }

// settled is how long drain waits before it reads the other nodes again. Slurm's times have a
// resolution of one second, so any node that is drained later has a later time.
const settled = 1100 * time.Millisecond

// drain drains this node in Slurm, or returns the reason why it does not. If several nodes drain
// themselves at the same time, the cap may be exceeded. So each node looks at the others again, and
// a node that was late undoes its drain.
func (f *watchFleet) drain(ctx context.Context, reason string) string {
	unknown := func(err error) string {
		return fmt.Sprintf("the cap cannot be checked: %s; --claims DIR counts without Slurm", err)
	}
	me, others, err := f.sinfo(ctx)
	if err != nil {
		return unknown(err)
	}
	switch {
	case me.ours():
		return ""
	case me.out():
		return "it is drained already: " + plain.Line(me.reason)
	}
	if why := f.over(me, others); why != "" {
		return why
	}
	if err := f.update(ctx, me, "State=DRAIN", "Reason="+reason); err != nil {
		return unknown(err)
	}
	wait := time.NewTimer(settled)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
	why := ""
	if me, others, err := f.sinfo(ctx); err != nil {
		why = unknown(err)
	} else {
		why = f.over(me, others)
	}
	if why != "" {
		if err := f.update(ctx, me, "State=RESUME"); err != nil {
			return why + "; it stays drained: " + err.Error()
		}
	}
	return why
}

// `over` returns a sentence if the nodes that were drained before this node already meet the cap.
// Otherwise it returns empty text.
func (f *watchFleet) over(me slurmNode, others []slurmNode) string {
	ahead := len(slice.Where(others, func(n slurmNode) bool {
		return n.ours() && (!me.ours() || cmp.Or(cmp.Compare(n.since, me.since), cmp.Compare(n.name, me.name)) < 0)
	}))
	nodes := len(others) + 1
	if ahead < f.most(nodes) {
		return ""
	}
	return fmt.Sprintf("the cap of %g %% is met: %d of %d nodes are out for zbench", f.o.cap, ahead, nodes)
}

func (f *watchFleet) update(ctx context.Context, n slurmNode, changes ...string) error {
	_, err := ran(ctx, f.s, Command{Argv: append([]string{"scontrol", "update", "NodeName=" + n.name}, changes...), Environ: f.s.Environ()}, slurmLimit)
	if err != nil {
		return fmt.Errorf("scontrol: %w", err)
	}
	return nil
}

// sinfo returns this node and all other nodes. Slurm may know this node by the first part of its
// host name.
func (f *watchFleet) sinfo(ctx context.Context) (me slurmNode, others []slurmNode, err error) {
	argv := []string{"sinfo", "--noheader", "--Node", "--format=%N|%T|%H|%E"}
	if f.o.partition != "" {
		argv = append(argv, "--partition="+f.o.partition)
	}
	text, err := ran(ctx, f.s, Command{Argv: argv, Environ: f.s.Environ()}, slurmLimit)
	if err != nil {
		return me, nil, fmt.Errorf("sinfo: %w", err)
	}
	short, _, _ := strings.Cut(f.host, ".")
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) { // sinfo prints one line per partition of a node
		p := strings.SplitN(strings.TrimSpace(line), "|", 4)
		if len(p) < 4 || seen[p[0]] {
			continue
		}
		seen[p[0]] = true
		if n := (slurmNode{p[0], p[1], p[2], p[3]}); n.name == f.host || n.name == short {
			me = n
		} else {
			others = append(others, n)
		}
	}
	if me.name == "" {
		return me, nil, fmt.Errorf("sinfo: it does not list %s among %d nodes", plain.Line(f.host), len(others))
	}
	return me, others, nil
}
