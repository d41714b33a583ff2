package peers

import (
	"io"
	"slices"
)

// form is another form of log. Its file registers it and does no more: what is taken, checked and named
// of its rows is what is of rccl-tests' text and CSV, into which it is rewritten.
type form struct {
	// is tells the form by the beginning of the input, up to 4 KiB.
	is func(head []byte) bool
	// rewriter returns what rewrites the lines of one input: the text or CSV that a line stands for,
	// which keeps its number. last is true for the last line.
	rewriter func() func(raw string, last bool) []string
	// whole rewrites an input that has no lines, instead of rewriter: the text or CSV that it stands
	// for, and an error where it breaks off.
	whole func(r io.Reader) ([]byte, error)
}

var forms []form

// register adds a form; the init of the form's own file calls it.
func register(f form) { forms = append(forms, f) }

// formOf is the form of an input by its beginning; text is the empty one.
func formOf(head []byte) form {
	i := slices.IndexFunc(forms, func(f form) bool { return f.is(head) })
	if i < 0 {
		return form{}
	}
	return forms[i]
}

// lines is the rewriter of the form; text stays as it is.
func (f form) lines() func(raw string, last bool) []string {
	if f.rewriter == nil {
		return func(raw string, _ bool) []string { return []string{raw} }
	}
	return f.rewriter()
}
