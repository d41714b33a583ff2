package formats

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"zbench/bench/files/trace"
	"zbench/bench/hardware/collective"
)

// chakraVersion is the version of the schema (et_def.proto of mlcommons/chakra @21585d8f).
const chakraVersion = "0.0.4"

// Field numbers of Chakra's messages and of attribute values.
const (
	nodeID, nodeName, nodeType, nodeData, nodeStart, nodeDuration, nodeInputs, nodeAttr = 1, 2, 3, 5, 6, 7, 8, 10

	int64Value, boolValue, textValue = 9, 27, 29
)

// groupsNode is the name that PyTorch gives the node with the process groups.
const groupsNode = "## process_group:init ##"

// WriteChakra writes a rank's work as Chakra protobuf. It writes a metadata node per group, as
// PyTorch does, and then the nodes. Groups are numbered from 1, because ASTRA-sim needs numeric
// names; 0 is the group of all ranks. A size is the size of the rank's send buffer, as in Chakra's
// converter. A node is left out if Chakra lacks its collective. The nodes after such a node then
// depend on the nodes before it. The result left is the number of nodes that were left out.
func WriteChakra(w io.Writer, t *trace.Trace, nodes []trace.Node) (left int, err error) {
	b := protowire.AppendBytes(nil, protoText(nil, 1, chakraVersion))
	used := map[int]bool{}
	for i := range nodes {
		if c := nodes[i].Call; c != nil {
			used[c.Group] = true
		}
	}
	id := uint64(0)
	for g := range t.Groups {
		if used[g] {
			b = protowire.AppendBytes(b, groupNode(id, t, g))
			id++
		}
	}
	place := make([][]uint64, len(nodes)) // the numbers of the written nodes that stand for each node
	for i, n := range nodes {
		var after []uint64
		for _, j := range n.After {
			after = append(after, place[j]...)
		}
		slices.Sort(after)
		after = slices.Compact(after)
		text, ok := protoNode(id, t, &n, after)
		if !ok {
			left++
			place[i] = after
			continue
		}
		b = protowire.AppendBytes(b, text)
		place[i] = []uint64{id}
		id++
	}
	if _, err := w.Write(b); err != nil {
		return left, fmt.Errorf("writing a Chakra trace: %w", err)
	}
	return left, nil
}

// groupNode returns the metadata of a group. The list of ranks is empty for a group of all ranks,
// as PyTorch writes it, and missing if the ranks are unknown.
func groupNode(id uint64, t *trace.Trace, at int) []byte {
	g := t.Groups[at]
	one := map[string]any{"pg_name": strconv.Itoa(at + 1), "pg_desc": cmp.Or(g.Description, g.Name), "group_size": g.Size}
	switch {
	case g.Size > 0 && g.Size == cmp.Or(t.World, len(t.Ranks)):
		one["ranks"] = []int{}
	case len(g.Ranks) > 0:
		one["ranks"] = g.Ranks
	}
	text, _ := json.Marshal([]any{one}) // cannot fail for strings and numbers
	b := protoNumber(nil, nodeID, id)
	b = protoText(b, nodeName, groupsNode)
	b = protoNumber(b, nodeType, chakraMetadata)
	b = protoText(b, nodeInputs, string(protoText(nil, 1, "['"+string(text)+"']")))
	return protoText(b, nodeAttr, onHost(true))
}

// protoNode returns a node as a message. It returns false if Chakra has no such collective.
func protoNode(id uint64, t *trace.Trace, n *trace.Node, after []uint64) ([]byte, bool) {
	b := protoNumber(nil, nodeID, id)
	name, kind := "computation", uint64(chakraComp)
	var attributes []string
	if c := n.Call; c != nil {
		g := t.Groups[c.Group]
		name, kind = c.Collective, chakraColl
		at := slices.Index(chakraCollectives, c.Collective)
		switch {
		case at >= 0:
			attributes = append(attributes, protoAttribute("comm_type", protoNumber(nil, int64Value, uint64(at))))
		case c.Collective == "send_recv":
			kind = chakraSend
		default:
			return nil, false
		}
		if size := sendBytes(c, g.Size); size >= 0 {
			attributes = append(attributes, protoAttribute("comm_size", protoNumber(nil, int64Value, uint64(size))))
		}
		attributes = append(attributes, protoAttribute("pg_name", protoText(nil, textValue, strconv.Itoa(c.Group+1))))
		if c.Dtype != "" {
			attributes = append(attributes, protoAttribute("dtype", protoText(nil, textValue, c.Dtype)))
		}
	}
	b = protoText(b, nodeName, name)
	b = protoNumber(b, nodeType, kind)
	var packed []byte
	for _, id := range after {
		packed = protowire.AppendVarint(packed, id)
	}
	if len(packed) > 0 {
		b = protoText(b, nodeData, string(packed))
	}
	b = protoNumber(b, nodeStart, micros(n.Start))
	b = protoNumber(b, nodeDuration, micros(n.Seconds))
	b = protoText(b, nodeAttr, onHost(false))
	for _, a := range attributes {
		b = protoText(b, nodeAttr, a)
	}
	return b, true
}

// sendBytes returns the size of the send buffer of one rank in bytes, or Unknown.
func sendBytes(c *trace.Call, ranks int) int64 {
	if k, err := collective.ByName(c.Collective); err == nil && k.SendShare && c.Bytes > 0 {
		if ranks == 0 {
			return trace.Unknown
		}
		return c.Bytes / int64(ranks)
	}
	return c.Bytes
}

func micros(seconds float64) uint64 { return uint64(math.Round(max(seconds, 0) * 1e6)) }

func onHost(is bool) string {
	return protoAttribute("is_cpu_op", protowire.AppendVarint(protowire.AppendTag(nil, boolValue, protowire.VarintType), protowire.EncodeBool(is)))
}

func protoAttribute(name string, value []byte) string {
	return string(append(protoText(nil, 1, name), value...))
}

// protoNumber appends a number field. It also writes 0, which a field of a oneof needs.
func protoNumber(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func protoText(b []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), text)
}
