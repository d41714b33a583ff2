package formats

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A pickle is a program for a stack machine. This machine knows containers, strings, numbers, None,
// booleans and the memo. It only makes values and calls nothing. It refuses every other opcode by
// name.

// Limits for a pickle: its bytes, and the number of values kept at once. A dump of 20,000 calls has
// 800,000 values.
const (
	maxPickle = 32 << 20
	maxValues = 1 << 20
)

// pickledBox is a container of a pickle. Its values are nil, bool, int64, float64, string or *pickledBox.
type pickledBox struct {
	// items are the values of a list or tuple, or the alternating keys and values of a dict.
	items []any
	dict  bool
	// dropped is true for a container whose items are discarded, because nothing reads them. kept
	// is true if the container is in the memo.
	dropped, kept bool
}

// get returns the value of a dict's key, or nil if the dict lacks it. If the key is repeated, the
// last value counts.
func (b *pickledBox) get(key string) any {
	for i := len(b.items) - 2; i >= 0; i -= 2 {
		if b.items[i] == key {
			return b.items[i+1]
		}
	}
	return nil
}

// unpickler is the stack machine.
type unpickler struct {
	in    string
	at    int
	stack []any
	marks []int
	memo  map[uint32]any
	// drop is the key whose list is discarded.
	drop string
	// held is the number of values in containers and in the memo.
	held int
}

// refused lists the opcodes that would run code, and the opcodes that no recorder writes.
var refused = map[byte]string{
	'c': "GLOBAL", 'R': "REDUCE", 'b': "BUILD", 'i': "INST", 'o': "OBJ", 0x81: "NEWOBJ", 0x92: "NEWOBJ_EX", 0x93: "STACK_GLOBAL",
	'P': "PERSID", 'Q': "BINPERSID", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 0x96: "BYTEARRAY8", 0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
	'0': "POP", '1': "POP_MARK", '2': "DUP", 'F': "FLOAT", 'I': "INT", 'L': "LONG", 'S': "STRING", 'V': "UNICODE", 'p': "PUT", 'g': "GET",
	0x8b: "LONG4", 'B': "BINBYTES", 'C': "SHORT_BINBYTES", 0x8e: "BINBYTES8", 'T': "BINSTRING", 'U': "SHORT_BINSTRING",
	0x8f: "EMPTY_SET", 0x90: "ADDITEMS", 0x91: "FROZENSET",
}

// pickledBytes is the number of bytes of an opcode's number. For 'a' and 's' it is the number of
// values that the opcode takes from the stack.
var pickledBytes = [256]uint64{'X': 4, 0x8c: 1, 0x8d: 8, 'q': 1, 'h': 1, 'r': 4, 'j': 4, 'K': 1, 'M': 2, 'J': 4, 'G': 8, 0x8a: 1, 'a': 1, 's': 2}

// unpickle returns the value of a pickle. A list under the key drop stays empty.
func unpickle(text, drop string) (any, error) {
	u := &unpickler{in: text, memo: map[uint32]any{}, drop: drop}
	for {
		at := u.at
		op := u.bytes(1)
		if op == "." && len(u.stack) == 1 {
			return u.stack[0], nil
		}
		switch {
		case op == "":
			return nil, fmt.Errorf("%w: %w", ErrDamaged, errShort)
		case refused[op[0]] != "":
			return nil, fmt.Errorf("%w: byte %d: the pickle has the opcode %s, which is not read: a recorder's dump has only containers, strings and numbers", ErrDamaged, at, refused[op[0]])
		case !u.step(op[0]):
			return nil, fmt.Errorf("%w: byte %d: the pickle's opcode %#x does not fit what is before it", ErrDamaged, at, op[0])
		case u.held+len(u.stack)+len(u.marks) > maxValues:
			return nil, fmt.Errorf("%w: the pickle has over %d values", ErrDamaged, maxValues)
		}
	}
}

// bytes takes the next n bytes. It returns empty text if there are fewer.
func (u *unpickler) bytes(n uint64) string {
	if n > uint64(len(u.in)-u.at) { //nolint:gosec // the position is at most the length
		u.at = len(u.in)
		return ""
	}
	out := u.in[u.at:][:n]
	u.at += int(n) //nolint:gosec // n is at most the length
	return out
}

// number takes the next n bytes as a little-endian number.
func (u *unpickler) number(n uint64) (uint64, bool) {
	b := u.bytes(n)
	var whole [8]byte
	copy(whole[:], b)
	return binary.LittleEndian.Uint64(whole[:]), uint64(len(b)) == n
}

func (u *unpickler) push(v any) bool { u.stack = append(u.stack, v); return true }

// box pushes a container with these items.
func (u *unpickler) box(items []any, dict bool) bool {
	b := &pickledBox{items: items, dict: dict}
	if n := len(u.stack); n > 0 {
		b.dropped = u.stack[n-1] == u.drop
	}
	u.held += len(items) + 2
	return u.push(b)
}

// step runs an opcode. It returns false if the opcode cannot run.
func (u *unpickler) step(op byte) bool {
	switch op {
	case 0x80: // PROTO
		v, ok := u.number(1)
		return ok && v <= 5
	case 0x95: // FRAME: the content of a frame is read like the rest
		_, ok := u.number(8)
		return ok
	case '(':
		u.marks = append(u.marks, len(u.stack))
		return true
	case 'N':
		return u.push(nil)
	case 0x88, 0x89:
		return u.push(op == 0x88)
	case '}', ']', ')':
		return u.box(nil, op == '}')
	case 'K', 'M', 'J', 0x8a, 'G':
		return u.numeral(op)
	case 'X', 0x8c, 0x8d:
		size, ok := u.number(pickledBytes[op])
		text := u.bytes(size)
		return ok && uint64(len(text)) == size && u.push(text)
	case 'q', 'r', 0x94, 'h', 'j':
		return u.remember(op)
	case 0x85, 0x86, 0x87:
		return u.pack(len(u.stack)-int(op-0x84), false)
	case 't', 'l', 'd':
		at, ok := u.mark()
		return ok && u.pack(at, op == 'd')
	case 'a', 's':
		return u.fill(len(u.stack)-int(pickledBytes[op]), op == 's') //nolint:gosec // 1 or 2
	case 'e', 'u':
		at, ok := u.mark()
		return ok && u.fill(at, op == 'u')
	}
	return false
}

// mark removes the last mark and returns its position.
func (u *unpickler) mark() (at int, ok bool) {
	if len(u.marks) == 0 {
		return 0, false
	}
	at = u.marks[len(u.marks)-1]
	u.marks = u.marks[:len(u.marks)-1]
	return at, at <= len(u.stack)
}

// low reports whether an opcode would take values from below the last mark.
func (u *unpickler) low(at int) bool {
	return at < 0 || len(u.marks) > 0 && at < u.marks[len(u.marks)-1]
}

// pack puts the values above a stack position into a new container, which replaces them on the stack.
func (u *unpickler) pack(at int, dict bool) bool {
	if u.low(at) || dict && (len(u.stack)-at)%2 == 1 {
		return false
	}
	items := slices.Clone(u.stack[at:])
	u.stack = u.stack[:at]
	return u.box(items, dict)
}

// fill moves the values above a stack position into the container that is below them.
func (u *unpickler) fill(at int, dict bool) bool {
	if u.low(at-1) || at < 1 {
		return false
	}
	b, ok := u.stack[at-1].(*pickledBox)
	if !ok || b.dict != dict || dict && (len(u.stack)-at)%2 == 1 {
		return false
	}
	if items := u.stack[at:]; b.dropped {
		for _, v := range items {
			if inner, ok := v.(*pickledBox); ok && !inner.kept {
				u.held -= len(inner.items) + 2
				inner.kept = true // mark it, so that it is counted only once
			}
		}
	} else {
		b.items = append(b.items, items...)
		u.held += len(items)
	}
	clear(u.stack[at:])
	u.stack = u.stack[:at]
	return true
}

// remember stores the last value in the memo, or loads a value from it.
func (u *unpickler) remember(op byte) bool {
	n, ok := uint64(len(u.memo)), true
	if op != 0x94 {
		n, ok = u.number(pickledBytes[op])
	}
	key := uint32(n) //nolint:gosec // a key has at most four bytes, and an index is at most maxValues
	if op == 'h' || op == 'j' {
		v, met := u.memo[key]
		return ok && met && u.push(v)
	}
	if !ok || len(u.stack) == 0 || u.low(len(u.stack)-1) {
		return false
	}
	v := u.stack[len(u.stack)-1]
	if b, box := v.(*pickledBox); box {
		b.kept = true
	}
	if _, met := u.memo[key]; !met {
		u.held += 4 // an entry of the map takes as much memory as four values
	}
	u.memo[key] = v
	return true
}

// numeral pushes a number.
func (u *unpickler) numeral(op byte) bool {
	n, ok := u.number(pickledBytes[op])
	switch {
	case !ok:
		return false
	case op == 'J':
		return u.push(int64(int32(n))) //nolint:gosec // the pickled number is signed
	case op == 'G':
		var raw [8]byte
		binary.LittleEndian.PutUint64(raw[:], n)
		return u.push(math.Float64frombits(binary.BigEndian.Uint64(raw[:])))
	case op != 0x8a:
		return u.push(int64(n)) //nolint:gosec // a number of one or two bytes fits
	}
	text := u.bytes(n)
	if uint64(len(text)) != n || n > 8 {
		return false
	}
	raw := slices.Repeat([]byte{0}, 8)
	if n > 0 && text[n-1]&0x80 != 0 {
		raw = slices.Repeat([]byte{0xff}, 8)
	}
	copy(raw, text)
	return u.push(int64(binary.LittleEndian.Uint64(raw))) //nolint:gosec // the pickled number is signed
}

// maxEmitted is the longest JSON text of an entry, in bytes.
const maxEmitted = 1 << 20

// emit appends a value as JSON. It returns false if the value is too deep or too long, which can
// happen because a container may contain itself.
func emit(out []byte, v any, depth int) ([]byte, bool) {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...), true
	case bool:
		return strconv.AppendBool(out, v), true
	case int64:
		return strconv.AppendInt(out, v, 10), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(out, "null"...), true
		}
		return strconv.AppendFloat(out, v, 'g', -1, 64), true
	case string:
		text, err := json.Marshal(v[:min(len(v), maxName)])
		return append(out, text...), err == nil
	case *pickledBox:
		return v.emit(out, depth)
	}
	return out, false
}

func (b *pickledBox) emit(out []byte, depth int) ([]byte, bool) {
	signs := "[]"
	if b.dict {
		signs = "{}"
	}
	out = append(out, signs[0])
	for i, v := range b.items {
		if _, text := v.(string); b.dict && i%2 == 0 && !text || depth > maxLevels || len(out) > maxEmitted {
			return out, false
		}
		if i > 0 {
			between := byte(',')
			if b.dict && i%2 == 1 {
				between = ':'
			}
			out = append(out, between)
		}
		var ok bool
		if out, ok = emit(out, v, depth+1); !ok {
			return out, false
		}
	}
	return append(out, signs[1]), true
}
