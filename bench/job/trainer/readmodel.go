package trainer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/hardware/collective"
)

// Hook is five lines of Python that print a model's parameters on one rank in a form that ReadModel
// reads. Not all ranks reduce the gradients of experts; Megatron and DeepSpeed mark these tensors.
const Hook = `print("name,shape,dtype,requires_grad,expert")
for n, p in model.named_parameters():
    shape = "x".join(map(str, p.shape)) or 1
    expert = not getattr(p, "allreduce", True)
    print(n, shape, p.dtype, p.requires_grad, expert, sep=",")
`

// maxText bounds a list in text form. maxHeader bounds the header of a safetensors file, which is
// the limit of that format.
const (
	maxText   = 64 << 20
	maxHeader = 100_000_000
)

// Open opens a file in the folder of the file that is being read.
type Open func(name string) (io.ReadCloser, error)

// ReadModel reads a parameter list. It accepts CSV, JSON, a safetensors file, a safetensors index,
// or a log in which Megatron prints its buckets. For an index it opens the named files and reads
// only their headers. name is the name of the file, for messages. Every error about a list in text
// form names the line.
//
// CSV has one tensor per line in forward order: name, number of elements or shape (4096x1024), and
// optionally True or False, which says whether the tensor is trained. A header may name the columns
// name, elements (or numel), shape, expert, requires_grad, dtype. Lines that begin with # are
// comments. JSON is a list of objects with name and elements, numel or shape, or an object whose
// keys are the names.
func ReadModel(name string, r io.Reader, open Open) (*Model, error) {
	m := &Model{Name: name, Source: "the file " + name, Listed: true}
	b := bufio.NewReader(r)
	var err error
	if size, is := safetensors(b); is {
		var text []byte
		if text, err = header(b, size); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrParams, name, err)
		}
		err = m.shards(name, []shard{{name, text}})
	} else {
		err = m.text(name, b, open)
	}
	if err != nil {
		return nil, err
	}
	m.noteFrozen()
	if ofExperts(m.Params, Param.Held) == 0 {
		m.ActiveParams = m.work()
	}
	return m, nil
}

// text reads CSV or JSON.
func (m *Model) text(name string, r io.Reader, open Open) error {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return fmt.Errorf("%s: read: %w", name, err)
	}
	if len(text) > maxText {
		return fmt.Errorf("%w: %s is larger than %d MiB", ErrParams, name, maxText>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch trimmed := bytes.TrimSpace(text); {
	case len(trimmed) == 0:
		return fmt.Errorf("%w: %s is empty", ErrParams, name)
	case isBucketLog(trimmed):
		return m.bucketLog(name, text)
	case trimmed[0] != '{' && trimmed[0] != '[':
		m.Params, err = m.fromCSV(name, text)
	case isIndex(trimmed):
		return m.index(name, trimmed, open)
	default:
		m.Params, err = fromJSON(name, text)
	}
	return err
}

// safetensors reports whether the file is in that format: the length of a header as a 64-bit
// little-endian number, then an object. Text is never mistaken for it, because eight characters of
// text would be a length far above all limits.
func safetensors(b *bufio.Reader) (size int64, is bool) {
	head, err := b.Peek(9)
	if err != nil {
		return 0, false
	}
	n := binary.LittleEndian.Uint64(head)
	return int64(min(n, maxHeader+1)), n >= 2 && n <= maxHeader && head[8] == '{'
}

var errShort = errors.New("the file ends within its header")

// header reads the JSON header behind the length.
func header(r io.Reader, size int64) ([]byte, error) {
	text := make([]byte, 8+size)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, errShort
	}
	return text[8:], nil
}

// columns has the index of each column of a CSV; -1 if the column is missing.
type columns struct{ name, elements, shape, expert, trained, dtype int }

// fromCSV reads rows of name,elements or name,shape.
func (m *Model) fromCSV(file string, text []byte) ([]Param, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment, r.FieldsPerRecord, r.TrimLeadingSpace, r.ReuseRecord = '#', -1, true, true
	at := columns{name: 0, elements: 1, shape: 1, expert: -1, trained: 2, dtype: -1}
	var l list
	width := 0
	for first := true; ; first = false {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return l.done()
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrParams, file, err) // the error names the line
		}
		line, _ := r.FieldPos(0)
		where := fmt.Sprintf("%s line %d", file, line)
		if first {
			head, is, err := headings(where, row)
			if err != nil {
				return nil, err
			}
			if is {
				at, width = head, len(row)
				continue
			}
		}
		if width > 0 && len(row) != width {
			return nil, fmt.Errorf("%w: %s: %d cells, and %d names of columns", ErrParams, where, len(row), width)
		}
		p, err := at.param(where, row)
		if err == nil && p.Elements > 0 && at.dtype >= 0 && at.dtype < len(row) {
			err = m.typed(where, row[at.dtype])
		}
		if err == nil {
			err = l.add(where, p)
		}
		if err != nil {
			return nil, err
		}
	}
}

// typed stores the element type of a trained tensor. text is in PyTorch's spelling.
func (m *Model) typed(where, text string) error {
	d, err := collective.DtypeByName(strings.TrimPrefix(strings.TrimSpace(text), "torch."))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrParams, where, err)
	}
	if !slices.Contains(m.Dtypes, d.Name) {
		m.Dtypes = append(m.Dtypes, d.Name)
	}
	return nil
}

// headings reads the first row as column names, if it consists of column names.
func headings(where string, row []string) (at columns, is bool, err error) {
	find := func(names ...string) int {
		return slices.IndexFunc(row, func(s string) bool { return slices.Contains(names, strings.ToLower(strings.TrimSpace(s))) })
	}
	at = columns{find("name", "parameter", "tensor"), find("elements", "numel", "params", "count"), find("shape", "size"), find("expert", "is_expert"), find("requires_grad", "trainable"), find("dtype")}
	switch {
	case at.name < 0:
		return at, false, nil
	case at.elements < 0 && at.shape < 0:
		return at, false, fmt.Errorf("%w: %s: the header has neither elements nor shape", ErrParams, where)
	}
	return at, true, nil
}

func (at columns) param(where string, row []string) (Param, error) {
	cell := func(i int) string {
		if i < 0 || i >= len(row) {
			return ""
		}
		return strings.TrimSpace(row[i])
	}
	plain := at.elements == at.shape // without a header
	if plain && (len(row) < 2 || len(row) > 3) {
		return Param{}, fmt.Errorf("%w: %s: %d fields; write name,elements or name,shape with the shape as 4096x1024, requires_grad behind it", ErrParams, where, len(row))
	}
	n, shape, err := counted(cell(at.elements), cell(at.shape))
	if err != nil {
		return Param{}, fmt.Errorf("%w: %s: %w", ErrParams, where, err)
	}
	if strings.ContainsAny(cell(at.name), " \t") {
		return Param{}, fmt.Errorf("%w: %s: %s is no name of a tensor: is another line mixed into it?", ErrParams, where, short(cell(at.name)))
	}
	p := named(cell(at.name), n, shape)
	if text := cell(at.expert); text != "" {
		if p.Expert, err = strconv.ParseBool(strings.ToLower(text)); err != nil {
			return Param{}, fmt.Errorf("%w: %s: expert is %s, not true or false", ErrParams, where, short(text))
		}
	}
	if text := cell(at.trained); text != "" {
		trained, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return Param{}, fmt.Errorf("%w: %s: requires_grad is %s, not True or False; write name,elements or name,shape with the shape as 4096x1024", ErrParams, where, short(text))
		}
		freeze(&p, !trained)
	}
	return p, nil
}

// counted reads a number of elements and a shape. One of them may be empty.
func counted(count, shape string) (int64, []int64, error) {
	switch {
	case count == "":
		return elementsColumn(shape)
	case shape == "":
		return elementsColumn(count)
	}
	n, _, err := elementsColumn(count)
	if err != nil {
		return 0, nil, err
	}
	product, sides, err := elementsColumn(shape)
	if err == nil {
		err = agree(n, product)
	}
	return n, sides, err
}

// agree refuses a number of elements that is not the product of the shape.
func agree(count, product int64) error {
	if count != product {
		return fmt.Errorf("%d elements and a shape of %d contradict each other", count, product)
	}
	return nil
}

// elementsColumn reads a number of elements, or a shape such as 4096x1024, [4096, 1024] or (4096,).
// For a single number the shape is unknown and nil.
func elementsColumn(text string) (n int64, shape []int64, err error) {
	inner := strings.TrimPrefix(text, "torch.Size")
	inner = strings.Trim(inner, "[]() ")
	if inner == "" {
		if text != inner {
			return 1, []int64{}, nil // a scalar: []
		}
		return 0, nil, errors.New("no number of elements")
	}
	if rest, alone := strings.CutSuffix(inner, ","); alone && strings.HasSuffix(text, ")") && !strings.Contains(rest, ",") {
		inner = rest // (4096,) has one side
	}
	if slices.ContainsFunc(strings.Split(inner, ","), func(side string) bool { return strings.TrimSpace(side) == "" }) {
		return 0, nil, fmt.Errorf("%s lacks a side of its shape", short(text))
	}
	sides := strings.FieldsFunc(inner, func(r rune) bool { return strings.ContainsRune("xX×*, ", r) })
	shape = make([]int64, len(sides))
	for i, s := range sides {
		n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
		if err != nil || n < 1 {
			return 0, nil, fmt.Errorf("%s is not a number of elements or a shape", short(text))
		}
		shape[i] = n
	}
	if len(sides) == 0 {
		return 0, nil, fmt.Errorf("%s is not a number of elements or a shape", short(text))
	}
	if n = dims(shape); inner == text && len(shape) == 1 {
		shape = nil
	}
	return n, shape, nil
}

// entry is one tensor in JSON.
type entry struct {
	Name     string  `json:"name"`
	Elements *int64  `json:"elements"`
	Numel    *int64  `json:"numel"`
	Shape    []int64 `json:"shape"`
	Expert   *bool   `json:"expert"`
	Trained  *bool   `json:"requires_grad"`
}

// param returns the tensor that an entry describes.
func (e entry) param() (Param, error) {
	var n int64
	switch {
	case e.Elements != nil:
		n = *e.Elements
	case e.Numel != nil:
		n = *e.Numel
	case e.Shape != nil:
		n = dims(e.Shape)
	default:
		return Param{}, errors.New("a tensor without elements, numel or shape")
	}
	if e.Shape != nil {
		if err := agree(n, dims(e.Shape)); err != nil {
			return Param{}, err
		}
	}
	p := named(e.Name, n, e.Shape)
	if e.Expert != nil {
		p.Expert = *e.Expert
	}
	freeze(&p, e.Trained != nil && !*e.Trained)
	return p, nil
}

// walker reads JSON token by token, because the order of an object's keys matters.
type walker struct {
	file string
	text []byte
	d    *json.Decoder
	l    list
	// lines is the number of lines up to offset at, so that every line is counted once.
	lines int
	at    int64
}

// fromJSON reads a list of entries, or an object that maps names to a number, a shape or an entry.
func fromJSON(file string, text []byte) ([]Param, error) {
	w := &walker{file: file, text: text, d: json.NewDecoder(bytes.NewReader(text))}
	open, err := w.d.Token()
	if err != nil {
		return nil, w.fail(err)
	}
	for w.d.More() {
		var e entry
		if open != json.Delim('[') {
			e, err = w.member()
		} else if err = w.d.Decode(&e); err != nil {
			err = w.fail(err)
		}
		if err == nil {
			err = w.take(e)
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := w.d.Token(); err != nil {
		return nil, w.fail(err)
	}
	if _, err := w.d.Token(); !errors.Is(err, io.EOF) {
		return nil, w.fail(errors.New("more follows behind the list"))
	}
	return w.l.done()
}

// Method `where` returns the decoder's position in the file.
func (w *walker) where() string {
	now := w.d.InputOffset()
	w.lines += bytes.Count(w.text[w.at:now], []byte("\n"))
	w.at = now
	return fmt.Sprintf("%s line %d", w.file, 1+w.lines)
}

func (w *walker) fail(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends in the middle")
	}
	return fmt.Errorf("%w: %s: %w", ErrParams, w.where(), err)
}

// member reads one entry of an object.
func (w *walker) member() (e entry, err error) {
	key, err := w.d.Token()
	var raw json.RawMessage
	if err == nil {
		err = w.d.Decode(&raw)
	}
	if err != nil {
		return e, w.fail(err)
	}
	switch raw[0] {
	case '[':
		err = json.Unmarshal(raw, &e.Shape)
	case '{':
		err = json.Unmarshal(raw, &e)
	default:
		err = json.Unmarshal(raw, &e.Elements)
	}
	if err != nil {
		return e, w.fail(err)
	}
	e.Name, _ = key.(string)
	return e, nil
}

func (w *walker) take(e entry) error {
	p, err := e.param()
	if err != nil {
		return w.fail(err)
	}
	return w.l.add(w.where(), p)
}

// maxShards is the largest number of files in an index.
const maxShards = 4096

// shard is the header of one safetensors file.
type shard struct {
	name   string
	header []byte
}

// isIndex reports whether JSON is a safetensors index and not a parameter list.
func isIndex(text []byte) bool {
	var index struct {
		Map json.RawMessage `json:"weight_map"`
	}
	return text[0] == '{' && json.Unmarshal(text, &index) == nil && len(index.Map) > 0 && index.Map[0] == '{'
}

// index reads the headers of the files that an index names, because the index itself has no shapes.
func (m *Model) index(name string, text []byte, open Open) error {
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return fmt.Errorf("%w: %s: weight_map: %w", ErrParams, name, err)
	}
	files := slices.Compact(slices.Sorted(maps.Values(index.Map)))
	if len(files) > maxShards {
		return fmt.Errorf("%w: %s names %d files, more than %d", ErrParams, name, len(files), maxShards)
	}
	var shards []shard
	for _, file := range files {
		if strings.ContainsAny(file, `/\`) || file == ".." {
			return fmt.Errorf("%w: %s names a file elsewhere: %s", ErrParams, name, short(file))
		}
		head, err := beside(file, open)
		if err != nil {
			return fmt.Errorf("%w: %s has names but no shapes, and %s beside it cannot be read: %w (only its header is needed; or write a CSV of name,elements)",
				ErrParams, name, short(file), err)
		}
		shards = append(shards, shard{file, head})
	}
	return m.shards(name, shards)
}

// Function `beside` reads the header of a file in the same folder.
func beside(file string, open Open) ([]byte, error) {
	if open == nil {
		return nil, fmt.Errorf("%s is not at hand", file)
	}
	f, err := open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // the file was only read
	b := bufio.NewReader(f)
	size, is := safetensors(b)
	if !is {
		return nil, fmt.Errorf("%s is not a safetensors file", file)
	}
	return header(b, size)
}

// shards returns all tensors of the files. The files list them by name, so shards sorts them into a
// likely forward order.
func (m *Model) shards(name string, shards []shard) error {
	var l list
	for _, s := range shards {
		var tensors map[string]json.RawMessage
		if err := json.Unmarshal(s.header, &tensors); err != nil {
			return fmt.Errorf("%w: %s: header: %w", ErrParams, s.name, err)
		}
		for _, tensor := range slices.Sorted(maps.Keys(tensors)) {
			if tensor == "__metadata__" {
				continue
			}
			var e entry
			if err := json.Unmarshal(tensors[tensor], &e); err != nil || e.Shape == nil {
				return fmt.Errorf("%w: %s: %s has no shape", ErrParams, s.name, short(tensor))
			}
			if err := l.add(s.name, named(tensor, dims(e.Shape), e.Shape)); err != nil {
				return err
			}
		}
	}
	params, err := l.done()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	slices.SortStableFunc(params, forward)
	m.Params = params
	m.Notes = append(m.Notes, "a checkpoint does not say in which order its tensors are used: the order is guessed from their names")
	return nil
}

// tensorPlaces order a tensor within the model and within its block. The first pattern that matches
// the name counts.
var tensorPlaces = []*pattern.Pattern{
	pattern.New(`embed|wte|wpe|tok_`),
	pattern.New(`layers|blocks|\bh\.`), // numbered blocks come here
	pattern.New(`input_?(layer)?norm|ln_1|attention_norm`),
	pattern.New(`attn|attention`),
	pattern.New(`post_attention|ln_2|ffn_norm|mlp_norm|pre_mlp`),
	pattern.New(`router|\.gate\.`),
	pattern.New(`gate_proj|gate_up|linear_fc1|up_proj|c_fc|w1|w3`),
	pattern.New(`down_proj|linear_fc2|c_proj|w2`),
	pattern.New(`shared_expert`),
	pattern.New(`norm|ln_f`),
	pattern.New(`lm_head|output`),
}

// Function forward compares two tensors by their likely place in the forward pass.
func forward(a, b Param) int {
	return cmp.Or(
		cmp.Compare(section(a), section(b)),
		cmp.Compare(a.Block, b.Block),
		cmp.Compare(within(a), within(b)),
		plain.Natural(a.Name, b.Name),
	)
}

// section returns 0 for tensors before the blocks, 1 for tensors in a block, and 2 for tensors
// after the blocks.
func section(p Param) int {
	switch {
	case p.Block > 0:
		return 1
	case tensorPlaces[0].MatchString(p.Name):
		return 0
	}
	return 2
}

// Function `within` returns the place of a tensor inside its block, or among the tensors after the
// blocks. Experts are ordered by their number, which plain.Natural does later.
func within(p Param) int {
	for i, place := range tensorPlaces {
		if i < 2 {
			continue
		}
		if i == 3 && tensorPlaces[4].MatchString(p.Name) && !strings.Contains(p.Name, "self_attn") {
			continue // post_attention_layernorm is not a part of attention
		}
		if p.Expert && i < 6 {
			continue
		}
		if place.MatchString(p.Name) {
			if p.Expert {
				return 6
			}
			return i
		}
	}
	return len(tensorPlaces)
}
