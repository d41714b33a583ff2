package trainer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/unit"
)

// Megatron-Core prints the buckets of a rank when it builds them, in the order of reduction: the
// number of elements and the names of the tensors
// (megatron/core/distributed/param_and_grad_buffer.py, NVIDIA/Megatron-LM at d98e8a64; since
// core_r0.7, versions differ in the text after the number). Experts are in a buffer with separate
// buckets.
var (
	bucketHead = pattern.New(`^(.*?)Params for bucket (\d+) \((\d+) elements[^)]*(?:\(s\)[^)]*)?\):\s*$`)
	bucketName = pattern.New(`^[ \t]+([\w.]+)(?: \(.*\))?\s*$`)
	bucketWord = []byte("Params for bucket ")
)

// Limits for a log. More kinds of tensors, different buckets, or digits of a number mean that the
// log is damaged.
const (
	maxKinds  = 64
	maxSums   = 4096
	maxDigits = 16
)

// logged is a tensor that a log names.
type logged struct {
	name string
	line int
}

// loggedBucket is a bucket that a log prints.
type loggedBucket struct {
	number   int
	elements int64
	tensors  []logged
}

func isBucketLog(text []byte) bool { return bytes.Contains(text, bucketWord) }

// bucketLog reads a rank's buckets as Megatron-Core prints them. The log does not print the sizes
// of tensors. They are computed from the sizes of the buckets, because tensors whose names differ
// only in the block number are equally large.
func (m *Model) bucketLog(file string, text []byte) error {
	buckets, err := loggedBuckets(file, text)
	if err != nil {
		return err
	}
	sizes, err := solved(buckets, true)
	if errors.Is(err, errUneven) { // the norms of this model have several sizes
		sizes, err = solved(buckets, false)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w; %s", ErrParams, file, err, insteadOfLog)
	}
	var l list
	buffers := 0
	for len(buckets) > 0 { // the last bucket of a buffer has its first tensors
		n := 1 + slices.IndexFunc(buckets[1:], func(b loggedBucket) bool { return b.number == 1 })
		if n == 0 {
			n = len(buckets)
		}
		for _, b := range slices.Backward(buckets[:n]) {
			for _, t := range slices.Backward(b.tensors) {
				if err := l.add(fmt.Sprintf("%s line %d", file, t.line), named(t.name, sizes[t.name], nil)); err != nil {
					return fmt.Errorf("%w; give the lines of one rank", err)
				}
			}
		}
		buckets, buffers = buckets[n:], buffers+1
	}
	if m.Params, err = l.done(); err != nil {
		return err
	}
	if buffers > 1 { // in each block, put the experts, which have a separate buffer, after the other tensors
		slices.SortStableFunc(m.Params, func(a, b Param) int {
			return cmp.Or(cmp.Compare(section(a), section(b)), cmp.Compare(a.Block, b.Block))
		})
	}
	m.Notes = append(m.Notes, "the sizes are solved from the sums of the buckets in Megatron's log")
	return nil
}

// solved returns the sizes of the tensors by name. A tensor that is alone in a bucket has the size
// of the bucket. norms is true if all norms are assumed to have one size.
func solved(buckets []loggedBucket, norms bool) (map[string]int64, error) {
	sizes, k := map[string]int64{}, kinds{norms: norms, index: map[string]int{}, sums: map[[maxKinds]int32]int64{}}
	kindOf := map[string]int{}
	var uneven error
	for _, b := range buckets {
		var counts [maxKinds]int32
		for _, t := range b.tensors {
			kind, err := k.of(t.name)
			if err != nil {
				return nil, err
			}
			kindOf[t.name] = kind
			counts[kind]++
		}
		if len(b.tensors) == 1 {
			sizes[b.tensors[0].name] = b.elements
		}
		if err := k.equation(counts, b.elements); err != nil && uneven == nil {
			uneven = fmt.Errorf("bucket %d: %w", b.number, err)
		}
	}
	switch {
	case len(sizes) == len(kindOf):
		return sizes, nil
	case uneven != nil:
		return nil, uneven
	}
	all, err := k.solve()
	for name, kind := range kindOf {
		if err == nil {
			sizes[name] = all[kind]
		}
	}
	return sizes, err
}

// insteadOfLog names other sources of sizes that cannot be computed from a log.
const insteadOfLog = "a run with --ddp-bucket-size 1 prints each tensor's, and so does the hook of `zbench recommend --help`"

// loggedBuckets returns the buckets of a log without repetitions, because a rank may print them
// twice.
func loggedBuckets(file string, text []byte) ([]loggedBucket, error) {
	var all []loggedBucket
	prefix, open := "", false // prefix of each line, such as a launcher's rank
	line := 0
	for raw := range bytes.Lines(text) {
		line++
		row := strings.TrimRight(string(raw), "\r\n")
		if h := bucketHead.FindStringSubmatch(row); h != nil {
			if len(all) > 0 && h[1] != prefix {
				open = false
				continue // another rank's line
			}
			if len(h[2]) > maxDigits || len(h[3]) > maxDigits {
				return nil, fmt.Errorf("%w: %s line %d: %s is no number of elements", ErrParams, file, line, short(h[3]))
			}
			prefix, open = h[1], true
			b := loggedBucket{}
			b.number, _ = strconv.Atoi(h[2])
			b.elements, _ = strconv.ParseInt(h[3], 10, 64)
			if n := len(all); b.number != 1 && (n == 0 || b.number != all[n-1].number+1) {
				return nil, fmt.Errorf("%w: %s line %d: bucket %d does not follow; give the lines of one rank, whole", ErrParams, file, line, b.number)
			}
			all = append(all, b)
			continue
		}
		rest, ours := strings.CutPrefix(row, prefix)
		name := bucketName.FindStringSubmatch(rest)
		if open = open && ours && name != nil; !open {
			continue
		}
		b := &all[len(all)-1]
		b.tensors = append(b.tensors, logged{name: name[1], line: line})
	}
	for _, b := range all {
		if len(b.tensors) == 0 {
			return nil, fmt.Errorf("%w: %s: the names of bucket %d are missing; the lines behind \"Params for bucket\" have them", ErrParams, file, b.number)
		}
	}
	if n := len(all); n%2 == 0 && n > 0 && slices.EqualFunc(all[:n/2], all[n/2:], sameBucket) {
		all = all[:n/2]
	}
	return all, nil
}

func sameBucket(a, b loggedBucket) bool {
	return a.number == b.number && a.elements == b.elements && slices.EqualFunc(a.tensors, b.tensors, func(a, b logged) bool { return a.name == b.name })
}

// kinds are the kinds of tensors in a log: tensors of a kind are equally large. Each bucket gives
// an equation for their sizes; the equations are kept in reduced form.
type kinds struct {
	index map[string]int
	names []string
	// norms is true if all norms are assumed to have one size.
	norms bool
	// rows are the equations: a coefficient per kind, then the sum. pivots has the first kind in
	// each row.
	rows   [][]*big.Rat
	pivots []int
	// sums has the size of each known bucket, by its number of tensors of each kind.
	sums map[[maxKinds]int32]int64
}

// hiddenKinds matches Megatron's names of tensors that have the hidden size: the norms of a block,
// whether fused into the next layer or not, and the biases of the layers that return to the hidden
// size. Names of experts are excluded; their sizes follow from the sums.
var (
	hiddenKinds = pattern.New(`(?:^|\.)(?:input|pre_mlp|post_attention|post_self_attn|post_mlp|final)_layernorm\.(?:weight|bias)$|linear_(?:qkv|fc1)\.layer_norm_(?:weight|bias)$|linear_(?:proj|fc2)\.bias$`)
	ofExpert    = pattern.New(`experts\.`)
	numberWords = pattern.New(`\.\d+\.|\d+$`)
)

// Method `of` returns the number of a tensor's kind.
func (k *kinds) of(name string) (int, error) {
	kind := numberWords.ReplaceAllString(name, ".N.")
	if k.norms && hiddenKinds.MatchString(name) && !ofExpert.MatchString(name) {
		kind = "the norms and biases of the hidden size"
	}
	if i, ok := k.index[kind]; ok {
		return i, nil
	}
	if len(k.names) == maxKinds {
		return 0, fmt.Errorf("over %d kinds of tensors", maxKinds)
	}
	k.index[kind] = len(k.names)
	k.names = append(k.names, kind)
	return len(k.names) - 1, nil
}

var errUneven = errors.New("tensors of one name have different sizes in different blocks")

// equation adds a bucket as an equation: its tensors of each kind add up to its elements.
func (k *kinds) equation(counts [maxKinds]int32, elements int64) error {
	if sum, known := k.sums[counts]; known {
		if sum != elements {
			return errUneven
		}
		return nil
	}
	if k.sums[counts] = elements; len(k.sums) > maxSums {
		return fmt.Errorf("over %d different buckets", maxSums)
	}
	row := make([]*big.Rat, maxKinds+1)
	for i, n := range counts {
		row[i] = big.NewRat(int64(n), 1)
	}
	row[maxKinds] = big.NewRat(elements, 1)
	for i, p := range k.pivots {
		eliminate(row, k.rows[i], p)
	}
	pivot := slices.IndexFunc(row, func(x *big.Rat) bool { return x.Sign() != 0 })
	switch pivot {
	case -1:
		return nil
	case maxKinds:
		return errUneven
	}
	by := new(big.Rat).Inv(row[pivot])
	for _, x := range row {
		x.Mul(x, by)
	}
	for i := range k.rows {
		eliminate(k.rows[i], row, pivot)
	}
	k.rows, k.pivots = append(k.rows, row), append(k.pivots, pivot)
	return nil
}

// eliminate subtracts a multiple of the equation other from the equation row, so that row becomes
// zero at other's pivot.
func eliminate(row, other []*big.Rat, pivot int) {
	if row[pivot].Sign() == 0 {
		return
	}
	by := new(big.Rat).Set(row[pivot])
	var part big.Rat
	for i, x := range other {
		if x.Sign() != 0 {
			row[i].Sub(row[i], part.Mul(by, x))
		}
	}
}

// solve returns the size of each kind.
func (k *kinds) solve() ([]int64, error) {
	sizes := make([]int64, len(k.names))
	for i, row := range k.rows {
		alone := !slices.ContainsFunc(row[k.pivots[i]+1:maxKinds], func(x *big.Rat) bool { return x.Sign() != 0 })
		n := row[maxKinds]
		switch {
		case !alone:
			continue
		case !n.IsInt() || n.Sign() <= 0 || !n.Num().IsInt64():
			return nil, errUneven
		}
		sizes[k.pivots[i]] = n.Num().Int64()
	}
	var open []string
	for i, n := range sizes {
		if n == 0 {
			open = append(open, k.names[i])
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("the sums of the buckets leave open how large are %s", unit.FirstFew(open, 6))
	}
	return sizes, nil
}
