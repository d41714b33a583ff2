package trainer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// entry is one tensor in JSON.
type entry struct {
	Name     string  `json:"name"`
	Elements *int64  `json:"elements"`
	Numel    *int64  `json:"numel"`
	Shape    []int64 `json:"shape"`
	Expert   *bool   `json:"expert"`
	Trained  *bool   `json:"requires_grad"`
}

// param is the tensor an entry describes.
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

// walker reads JSON by tokens, because the order of an object's names counts.
type walker struct {
	file string
	text []byte
	d    *json.Decoder
	l    list
	// lines are those up to the offset at, so that no line is counted twice.
	lines int
	at    int64
}

// fromJSON reads a list of entries, or an object of name to number, shape or entry.
func fromJSON(file string, text []byte) ([]Param, error) {
	w := &walker{file: file, text: text, d: json.NewDecoder(bytes.NewReader(text))}
	open, err := w.d.Token()
	if err != nil {
		return nil, w.fail(err)
	}
	for w.d.More() {
		if open == json.Delim('[') {
			err = w.element()
		} else {
			err = w.member()
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

// where is the place of the decoder.
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

// element is one of a list.
func (w *walker) element() error {
	var e entry
	if err := w.d.Decode(&e); err != nil {
		return w.fail(err)
	}
	return w.take(e)
}

// member is one of an object.
func (w *walker) member() error {
	key, err := w.d.Token()
	if err != nil {
		return w.fail(err)
	}
	var raw json.RawMessage
	if err := w.d.Decode(&raw); err != nil {
		return w.fail(err)
	}
	var e entry
	switch raw[0] {
	case '[':
		err = json.Unmarshal(raw, &e.Shape)
	case '{':
		err = json.Unmarshal(raw, &e)
	default:
		err = json.Unmarshal(raw, &e.Elements)
	}
	if err != nil {
		return w.fail(err)
	}
	e.Name, _ = key.(string)
	return w.take(e)
}

func (w *walker) take(e entry) error {
	p, err := e.param()
	if err != nil {
		return w.fail(err)
	}
	return w.l.add(w.where(), p)
}
