package formats

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/files/trace"
)

// PyTorch's execution trace has every operator of one rank with its inputs, but no times. A
// collective is a node named "record_param_comms". Versions 1.0.1 to 1.1.1 store its values in
// different places.
func init() {
	register(Format{
		Name: "pytorch-et", Title: "an execution trace of PyTorch", Holds: Calls, rank: 20,
		recognise: func(head []byte) bool {
			return begins(head, '{') && has(head, `"schema":`, `"schema" :`) && has(head, `"nodes"`) && has(head, `"pid"`)
		},
		read: readET,
	})
}

type et struct {
	t      *trace.Trace
	rank   *trace.Rank
	groups groupTable
	within within
	order  map[string]int // unnamed groups, numbered by address in order of appearance
}

func readET(in *Input, t *trace.Trace) error {
	e := &et{t: t, rank: &trace.Rank{Rank: trace.Unknown, File: in.Name}, groups: groupTable{}, within: within{rank: trace.Unknown}, order: map[string]int{}}
	s := newStream(in)
	err := s.object(func(key string) error {
		if key == "nodes" && s.next() == '[' {
			return s.array(e.node)
		}
		_, err := s.value()
		return err
	})
	if err != nil {
		return err
	}
	e.rank.Rank = e.within.rank
	e.groups.settle(t, e.rank)
	return nil
}

type etValues struct {
	Values json.RawMessage `json:"values"`
	Types  json.RawMessage `json:"types"`
}

type etNode struct {
	Name    word            `json:"name"`
	Inputs  json.RawMessage `json:"inputs"`
	Outputs json.RawMessage `json:"outputs"`
	Types   json.RawMessage `json:"input_types"` // before 1.0.2
	Attrs   []struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	} `json:"attrs"`
}

// values returns the inputs or outputs of a node, which have two forms, and the text of their
// types.
func (n *etNode) values(raw json.RawMessage) (list []json.RawMessage, types string) {
	var v etValues
	if json.Unmarshal(raw, &list) == nil {
		return list, string(n.Types)
	}
	if json.Unmarshal(raw, &v) == nil && json.Unmarshal(v.Values, &list) == nil {
		return list, string(v.Types)
	}
	return nil, ""
}

func (e *et) node(raw []byte) error {
	if raw == nil {
		e.rank.Damaged++
		return nil
	}
	calls := has(raw, "record_param_comms")
	if !calls && !has(raw, "process_group:init", `"`+accumulate+`"`) {
		return nil
	}
	var n etNode
	if json.Unmarshal(raw, &n) != nil {
		e.rank.Damaged++
		return nil
	}
	switch {
	case strings.Contains(string(n.Name), "process_group:init"):
		e.init(&n)
	case n.Name == accumulate:
		values, types := n.values(n.Inputs)
		if m := tensorType.FindStringSubmatch(types); m != nil && len(values) > 0 && len(e.rank.Gradients) <= maxCalls {
			e.rank.Gradients = append(e.rank.Gradients, trace.Gradient{Elements: elements(values[0], 0), Dtype: trace.TypeOf(m[1])})
		}
	case n.Name == "record_param_comms":
		if !e.call(&n) {
			e.rank.Damaged++
		}
	}
	return bounded(e.t, len(e.rank.Calls))
}

// init reads the table of groups, which is JSON inside a string.
func (e *et) init(n *etNode) {
	values, _ := n.values(n.Inputs)
	for _, v := range values {
		e.groups.add(e.t, []byte(text(v)))
	}
}

// tensorType matches the element type of a tensor in a list of types.
var tensorType = pattern.New(`Tensor\(([^)\],]*)`)

// call reads a record_param_comms node. It returns false if the node cannot be one. The values
// after the tensors are: the number of the request, the group, the rank, the collective's name, the
// splits, and from 1.0.3 on the group's first rank, stride and size.
func (e *et) call(n *etNode) bool {
	values, types := n.values(n.Inputs)
	var name string
	at := slices.IndexFunc(values, func(v json.RawMessage) bool { return json.Unmarshal(v, &name) == nil })
	if at < 3 {
		return false
	}
	attrs := map[string]json.RawMessage{}
	for _, a := range n.Attrs {
		attrs[a.Name] = a.Value
	}
	if !trace.IsCall(name) {
		return true
	}
	kind, known := trace.Named(name)
	c := trace.Call{Collective: limited(kind), Known: known}
	c.Sequence = request(values[at-3])
	outputs, _ := n.values(n.Outputs)
	c.In, c.Out = allElements(values[:at-3]), allElements(outputs)
	if m := tensorType.FindStringSubmatch(types); m != nil {
		c.Dtype = trace.TypeOf(m[1])
	}
	if t := text(attrs["dtype"]); t != "" {
		c.Dtype = cmp.Or(trace.TypeOf(t), c.Dtype)
	}
	for key, to := range map[string]*int64{"in_msg_nelems": &c.In, "out_msg_nelems": &c.Out} {
		if v, ok := integer(attrs[key]); ok && v >= 0 {
			*to = v
		}
	}
	c.Group = e.group(values, at, attrs)
	if rank, ok := integer(values[at-1]); ok {
		e.within.number(rank, e.t.Groups[c.Group])
	}
	c.Size(e.t.Groups[c.Group].Size)
	e.rank.Calls = append(e.rank.Calls, c)
	return true
}

// group returns the group of a call. The argument `at` is the index of the collective's name in
// values.
func (e *et) group(values []json.RawMessage, at int, attrs map[string]json.RawMessage) int {
	var g trace.Group
	var names []string
	switch err := json.Unmarshal(values[at-2], &names); {
	case err == nil && len(names) > 0:
		g.Name = names[0]
		if len(names) > 1 {
			g.Description = names[1]
		}
	default: // an address, which differs between ranks
		g.Name = "#" + strconv.Itoa(numbered(e.order, string(values[at-2])))
	}
	size := int64(0)
	if n := len(values); n > at+3 { // the last value is the size; before 1.0.3 no other value follows the splits
		size, _ = integer(values[n-1])
	}
	if v, ok := integer(attrs["pg_size"]); ok {
		size = v
	}
	if size <= 0 && len(values) > at+1 {
		var splits []json.RawMessage
		if json.Unmarshal(values[at+1], &splits) == nil {
			size = int64(len(splits))
		}
	}
	if known, ok := e.groups[g.Name]; ok {
		g.Ranks, g.Description = known.Ranks, cmp.Or(g.Description, known.Description)
		if size <= 1 && known.Size > 0 {
			size = int64(known.Size)
		}
	}
	if size > 0 && size <= maxRanks {
		g.Size = int(size)
	}
	if len(g.Ranks) != g.Size {
		g.Ranks = nil
	}
	g.Name, g.Description = limited(g.Name), limited(g.Description)
	return e.t.Find(g)
}

// request returns the number of a request. For messages between two ranks the value may be a pair
// of number and flag.
func request(raw json.RawMessage) int64 {
	if n, ok := integer(raw); ok {
		return n
	}
	var pair []json.RawMessage
	if json.Unmarshal(raw, &pair) == nil && len(pair) > 0 {
		if n, ok := integer(pair[0]); ok {
			return n
		}
	}
	return trace.Unknown
}

// allElements returns the number of elements in all tensors of a node's inputs or outputs, or
// Unknown if there are no tensors.
func allElements(values []json.RawMessage) int64 {
	n := int64(trace.Unknown)
	for _, v := range values {
		n = max(n, 0) + elements(v, 0)
	}
	return n
}

// elements returns the number of elements in a tensor, or in all tensors of a list.
func elements(raw json.RawMessage, depth int) (n int64) {
	var list []json.RawMessage
	if depth > 8 || json.Unmarshal(raw, &list) != nil {
		return 0
	}
	if len(list) >= 6 && begins(list[len(list)-1], '"') { // a tensor: number, storage, offset, elements, bytes per element, device
		n, _ := integer(list[3])
		return min(max(n, 0), 1<<50)
	}
	for _, v := range list {
		n = min(n+elements(v, depth+1), 1<<50)
	}
	return n
}

func integer(raw json.RawMessage) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	return n, err == nil
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // values of other types become empty text
	return s
}
