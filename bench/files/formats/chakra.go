package formats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"zbench/bench/base/pattern"
	"zbench/bench/files/trace"
	"zbench/bench/hardware/collective"
)

// An execution trace of Chakra is the graph of one rank. The file holds protobuf messages, each
// preceded by its length (et_def.proto), or JSON. zbench reads only the nodes that communicate.
func init() {
	register(Format{
		Name: "chakra", Title: "a Chakra execution trace", Holds: Calls, rank: 90,
		recognise: isChakra, read: readChakra,
	})
	register(Format{
		Name: "chakra-json", Title: "a Chakra execution trace as JSON", Holds: Calls, rank: 30,
		recognise: func(head []byte) bool { return begins(head, '{') && has(head, `"workload_graph"`) },
		read:      readChakraJSON,
	})
}

// Types of Chakra's nodes, and the numbers of its collectives.
const (
	chakraMetadata = 1
	chakraComp     = 4
	chakraSend     = 5
	chakraRecv     = 6
	chakraColl     = 7
)

var chakraCollectives = []string{"all_reduce", "reduce", "all_gather", "gather", "scatter", "broadcast", "all_to_all", "reduce_scatter", "reduce_scatter", "barrier"}

// maxMessage is the largest size of a message in bytes. A message is a node with its lists of
// dependencies.
const maxMessage = 64 << 20

// isChakra reports whether the first message can be GlobalMetadata, whose fields are 1 and 2.
func isChakra(head []byte) bool {
	n, used := protowire.ConsumeVarint(head)
	if used <= 0 || n == 0 || n > 1<<20 || n > uint64(len(head)-used) {
		return false
	}
	for body := head[used : used+int(n)]; len(body) > 0; {
		field, kind, used := protowire.ConsumeTag(body)
		if used < 0 || field < 1 || field > 2 || kind != protowire.BytesType {
			return false
		}
		value, size := protowire.ConsumeBytes(body[used:])
		if size < 0 || field == 1 && bytes.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return false
		}
		body = body[used+size:]
	}
	return true
}

// chakraFile matches the rank number in a file name.
var chakraFile = pattern.New(`\.([0-9]{1,7})\.(?:et|json|chakra)\b`)

func chakraRank(name string) int {
	if m := chakraFile.FindStringSubmatch(name); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return trace.Unknown
}

func readChakra(in *Input, t *trace.Trace) error {
	rank := &trace.Rank{Rank: chakraRank(in.Name), File: in.Name}
	groups := groupTable{}
	r := bufio.NewReaderSize(in, Head)
	for i := 0; ; i++ {
		n, err := readVarint(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if n > maxMessage {
			return fmt.Errorf("%w: message %d has %d bytes", ErrDamaged, i, n)
		}
		var b bytes.Buffer
		b.Grow(int(min(n, Head)))
		if _, err := io.CopyN(&b, r, int64(n)); err != nil {
			return fmt.Errorf("%w: message %d: %w", ErrDamaged, i, errShort)
		}
		if i == 0 { // the first message is the metadata of the file
			continue
		}
		if !chakraNode(b.Bytes(), t, rank, groups) {
			rank.Damaged++
		}
		if err := bounded(t, len(rank.Calls)); err != nil {
			return err
		}
	}
	groups.settle(t, rank)
	return nil
}

func readVarint(r *bufio.Reader) (uint64, error) {
	var b []byte
	for {
		c, err := r.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) && len(b) > 0 {
				return 0, fmt.Errorf("%w: %w", ErrDamaged, errShort)
			}
			return 0, err
		}
		b = append(b, c)
		if c < 0x80 || len(b) == 10 {
			break
		}
	}
	n, used := protowire.ConsumeVarint(b)
	if used < 0 {
		return 0, fmt.Errorf("%w: a length of over 64 bits", ErrDamaged)
	}
	return n, nil
}

// chakraFields are the fields that zbench reads from a node.
type chakraFields struct {
	name         string
	kind         uint64
	duration     uint64
	kindOf, size int64
	group, dtype string
	host         bool
	inputs       string // only in the metadata
}

// fields calls visit for each field of a message. It returns false if the bytes are not a valid
// message.
func fields(message []byte, visit func(field protowire.Number, n uint64, text []byte)) bool {
	for len(message) > 0 {
		field, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return false
		}
		size := protowire.ConsumeFieldValue(field, kind, message[tag:])
		if size < 0 {
			return false
		}
		switch value := message[tag : tag+size]; kind {
		case protowire.VarintType:
			n, _ := protowire.ConsumeVarint(value)
			visit(field, n, nil)
		case protowire.BytesType:
			text, _ := protowire.ConsumeBytes(value)
			visit(field, 0, text)
		default:
		}
		message = message[tag+size:]
	}
	return true
}

func chakraNode(message []byte, t *trace.Trace, rank *trace.Rank, groups groupTable) bool {
	n := chakraFields{kindOf: trace.Unknown, size: trace.Unknown}
	whole := fields(message, func(field protowire.Number, v uint64, text []byte) {
		switch int(field) {
		case 2:
			n.name = string(text)
		case 3:
			n.kind = v
		case 7:
			n.duration = v
		case 8:
			fields(text, func(field protowire.Number, _ uint64, values []byte) {
				if field == 1 {
					n.inputs = string(values)
				}
			})
		case 10:
			n.attribute(text)
		}
	})
	if whole && n.kind == chakraMetadata && strings.Contains(n.name, "process_group:init") && len(n.inputs) > 4 {
		groups.add(t, []byte(n.inputs[2:len(n.inputs)-2])) // a list with one text, in Python's notation
	}
	if whole {
		n.add(t, rank)
	}
	return whole
}

// attribute reads an AttributeProto: field 1 is its name, and the field of its type holds its
// value.
func (n *chakraFields) attribute(message []byte) {
	var name string
	var number uint64
	var value []byte
	fields(message, func(field protowire.Number, v uint64, text []byte) {
		switch {
		case field == 1:
			name = string(text)
		case field > 2 && text != nil:
			value = text
		case field > 2:
			number = v
		}
	})
	switch name {
	case "comm_type":
		n.kindOf = int64(min(number, math.MaxInt32))
	case "comm_size":
		if n.size = trace.Unknown; number <= trace.MaxBytes { // a negative size reads as a number above MaxBytes
			n.size = int64(number)
		}
	case "pg_name":
		n.group = string(value)
	case "dtype":
		n.dtype = trace.TypeOf(string(value))
	case "is_cpu_op":
		n.host = number != 0
	}
}

// add adds the call of a communicating node. An operator on the host has no size; its kernel is a
// separate node.
func (n *chakraFields) add(t *trace.Trace, rank *trace.Rank) {
	name, known := "send_recv", true
	switch n.kind {
	case chakraSend, chakraRecv:
	case chakraColl:
		if n.host && n.size < 0 {
			return
		}
		if k := n.kindOf; k >= 0 && k < int64(len(chakraCollectives)) {
			name, known = trace.Named(chakraCollectives[k])
		} else if name, _ = trace.OfKernel(n.name); name == "" {
			rank.Unnamed++
			return
		}
	default:
		return
	}
	c := trace.Call{
		Collective: name, Known: known, Dtype: n.dtype, In: trace.Unknown, Out: trace.Unknown, Bytes: n.size, Sequence: trace.Unknown,
		Took: float64(min(n.duration, 1<<53)) / 1e6,
	}
	if k, err := collective.ByName(name); err == nil && k.SendShare { // the size counts the data that the rank sends
		c.Bytes, c.Part = trace.Unknown, max(n.size, 0)
	}
	group := limited(n.group)
	if group == "" {
		group = trace.Unnamed
	}
	c.Group = t.Find(trace.Group{Name: group})
	rank.Calls = append(rank.Calls, c)
}

func readChakraJSON(in *Input, t *trace.Trace) error {
	rank := &trace.Rank{Rank: chakraRank(in.Name), File: in.Name}
	groups := groupTable{}
	s := newStream(in)
	err := s.object(func(key string) error {
		if key == "workload_graph" && s.next() == '[' {
			return s.array(func(raw []byte) error {
				var n struct {
					Name, NodeType json.RawMessage
					Runtime        number
					Host           bool   `json:"is_cpu_op"`
					Kind           number `json:"comm_type"`
					Size           number `json:"comm_size"`
					Group          word   `json:"pg_name"`
				}
				if raw == nil || json.Unmarshal(raw, &n) != nil {
					rank.Damaged++
					return nil
				}
				kind, _ := integer(n.NodeType)
				f := chakraFields{name: text(n.Name), kind: uint64(max(kind, 0)), kindOf: n.Kind.whole(), size: n.Size.whole(), group: string(n.Group), host: n.Host, duration: uint64(max(n.Runtime.whole(), 0))}
				f.add(t, rank)
				return bounded(t, len(rank.Calls))
			})
		}
		raw, err := s.value()
		if ranks, ok := integer(raw); key == "ngpus" && ok && ranks > 0 && ranks <= maxRanks {
			t.World = int(ranks)
		}
		return err
	})
	if err != nil {
		return err
	}
	groups.settle(t, rank)
	return nil
}
