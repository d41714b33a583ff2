package main

import (
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
)

// watchFleet is what a check knows about the other nodes.
type watchFleet struct {
	s      State
	o      *watchOptions
	host   string
	fallen func(kind string) (fallen, nodes int)
	doubts []string
}

// fallenMark is a node's file in the shared folder: until when a kind of its figures counts as fallen,
// and a finding that isolates as present.
type fallenMark struct {
	Until map[string]time.Time `json:"until"`
}

// A kind that has fallen counts until the node's next daily check, one that the fleet excused for the
// checks after which its figures are compared again.
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

// others counts the nodes whose files say that a kind has fallen, and all nodes. This node has fallen.
func (f *watchFleet) others(kind string) (fallen, nodes int) {
	entries, err := f.s.FS.ReadDir(filepath.Join(f.o.claims, "nodes"))
	if err != nil {
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

// report writes this node's file, and gives its claim back unless the node is isolated.
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

// withheld returns why the node must not be taken out; empty if it may.
func (f *watchFleet) withheld(ctx context.Context, d *nodewatch.Document) string {
	if f.o.claims != "" {
		first := d.Findings[0]
		if n, of := f.others(first.Code + " " + first.Subject); history.Together(n, of) {
			return fmt.Sprintf("%d of %d nodes have this finding together: look at the fleet, not at the node", n, of)
		}
		return f.claim(d.Reason)
	}
	out, nodes, err := f.sinfo(ctx)
	switch {
	case err != nil:
		return fmt.Sprintf("the cap cannot be checked: sinfo: %s; --claims DIR counts without it", err)
	case out+1 > f.most(nodes):
		return fmt.Sprintf("the cap of %g %% is met: %d of %d nodes are out for zbench", f.o.cap, out, nodes)
	}
	return ""
}

// most is the number of nodes that may be out: at least one.
func (f *watchFleet) most(nodes int) int { return max(int(f.o.cap/100*float64(nodes)), 1) }

// claim takes one of the numbered files of the shared folder. Creating a file is atomic, so never more
// nodes are out than there are numbers.
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

// owner is the host of a claim; empty if there is none.
func (f *watchFleet) owner(name string) string {
	text, _ := f.s.FS.ReadFile(name)
	host, _, _ := strings.Cut(string(text), "\n")
	return host
}

// giveBack removes this node's claims.
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

// sinfo counts the other nodes that are out for zbench, and all nodes.
func (f *watchFleet) sinfo(ctx context.Context) (out, nodes int, err error) {
	argv := []string{"sinfo", "--noheader", "--Node", "--format=%N|%T|%E"}
	if f.o.partition != "" {
		argv = append(argv, "--partition="+f.o.partition)
	}
	text, err := ran(ctx, f.s, Command{Argv: argv, Environ: f.s.Environ()}, sinfoLimit)
	if err != nil {
		return 0, 0, err
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), "|", 3)
		if len(fields) < 3 || seen[fields[0]] {
			continue
		}
		seen[fields[0]] = true
		if fields[0] != f.host && strings.HasPrefix(fields[2], "zbench") && strings.Contains(fields[1], "drain") {
			out++
		}
	}
	if len(seen) == 0 {
		return 0, 0, errors.New("it lists no node")
	}
	return out, len(seen), nil
}
