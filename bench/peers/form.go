package peers

import "slices"

// form is another form of log. Its file registers it and does no more: what is taken, checked and named
// of its rows is what is of rccl-tests' text and CSV, into which it is rewritten.
type form struct {
	// is tells the form by the beginning of the input, up to 4 KiB.
	is func(head []byte) bool
	// rewriter returns what rewrites the lines of one input: the text or CSV that a line stands for,
	// which keeps its number. last is true for the last line.
	rewriter func() func(raw string, last bool) []string
}

var forms []form

// register adds a form. Its result serves a declaration in the form's own file.
func register(f form) bool {
	forms = append(forms, f)
	return true
}

// rewriterOf is the rewriter of the input's form; text stays as it is.
func rewriterOf(head []byte) func(raw string, last bool) []string {
	i := slices.IndexFunc(forms, func(f form) bool { return f.is(head) })
	if i < 0 {
		return func(raw string, _ bool) []string { return []string{raw} }
	}
	return forms[i].rewriter()
}
