package shell

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Names in rewritten scripts: commands that rewrite inserts, and prefixes of variables that mark
// missing values.
const (
	stepped  = "__stepped"
	assigned = "__assigned"
	tested   = "__tested"
	stdin    = "__stdin" // passes a program's input text as an argument

	unset = "__unset"

	ofWord   = "__word_"
	ofQuoted = "__quoted_"
)

// kindOf splits the name of a variable that marks a missing value into its prefix and the rest. The
// rest is the name of the missing variable. A rest in hexadecimal is decoded.
func kindOf(name string) (kind, of string) {
	for _, kind := range []string{ofWord, ofQuoted} {
		rest, is := strings.CutPrefix(name, kind)
		if !is {
			continue
		}
		if code, is := strings.CutPrefix(rest, "_"); is {
			if text, err := hex.DecodeString(code); err == nil {
				return kind, string(text)
			}
		}
		return kind, rest
	}
	return "", name
}

// encoded returns a text in hexadecimal, as a part of a variable name.
func encoded(text string) string { return "_" + hex.EncodeToString([]byte(text)) }

// hosts are variables whose values depend on the machine or the time.
var hosts = []string{
	"$", "!", "0", "HOME", "PWD", "OLDPWD", "UID", "EUID", "GID", "GROUPS", "USER", "HOSTNAME", "HOSTTYPE", "OSTYPE", "MACHTYPE", "RANDOM", "SRANDOM", "SECONDS",
	"EPOCHSECONDS", "EPOCHREALTIME", "PPID", "BASHPID", "BASH_SOURCE", "DIRSTACK", "LINENO", "TMPDIR", "BASH_LINENO", "FUNCNAME", "PIPESTATUS",
}

// rewriting is the state of one pass over a script.
type rewriting struct {
	r *reader
	// path has the nodes from the root to the current node.
	path []syntax.Node
	// tests are the words in conditions.
	tests map[*syntax.Word]bool
	// needs has the variables that an arithmetic expression needs.
	needs map[*syntax.ArithmExp][]string
	// commands has the statements in the path.
	commands []counted
	err      error
}

// counted holds the number of expansions in a statement, and the marks of missing values that the
// statement tests.
type counted struct {
	uses  int
	tests []syntax.WordPart
}

// rewrite changes a script in place.
func (r *reader) rewrite(file *syntax.File) error {
	w := &rewriting{r: r, tests: map[*syntax.Word]bool{}, needs: map[*syntax.ArithmExp][]string{}}
	syntax.Walk(file, func(n syntax.Node) bool {
		if n != nil {
			w.path = append(w.path, n)
			w.enter(n)
			return true
		}
		n = w.path[len(w.path)-1]
		w.path = w.path[:len(w.path)-1]
		w.leave(n)
		return true
	})
	return w.err
}

// enter runs before the children of a node are rewritten.
func (w *rewriting) enter(n syntax.Node) {
	test := func(words ...*syntax.Word) {
		for _, one := range words {
			w.tests[one] = true
		}
	}
	switch n := n.(type) {
	case *syntax.Stmt:
		w.commands = append(w.commands, counted{})
		takeStdin(n)
		n.Redirs, n.Background, n.Coprocess, n.Disown = nil, false, false, false
	case *syntax.Lit:
		w.requote(n)
	case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp:
		if a, is := n.(*syntax.ArithmExp); is {
			w.needs[a] = names(a)
		}
		if last := len(w.commands) - 1; last >= 0 {
			if w.commands[last].uses++; w.commands[last].uses > maxUses {
				w.err = fmt.Errorf("%w: more than %d variables in a command", ErrLimit, maxUses)
			}
		}
	case *syntax.FuncDecl:
		if n.Name != nil {
			w.r.functions = append(w.r.functions, n.Name.Value)
		}
	case *syntax.CaseClause:
		test(n.Word)
		for _, item := range n.Items {
			test(item.Patterns...)
		}
	case *syntax.WordIter:
		test(n.Items...)
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			set := n.Args[0].Lit() == "set" && len(n.Args) > 1 && (n.Args[1].Lit() == "--" || !strings.HasPrefix(n.Args[1].Lit(), "-"))
			w.r.shifts = w.r.shifts || n.Args[0].Lit() == "shift" || set
			if n.Args[0].Lit() == "[" || n.Args[0].Lit() == "test" {
				test(n.Args...)
			}
		}
	}
}

// takeStdin passes the text that a shell would read from standard input as an argument.
func takeStdin(n *syntax.Stmt) {
	c, is := n.Cmd.(*syntax.CallExpr)
	if !is || len(c.Args) == 0 || !slices.Contains([]string{"sbatch", "bash", "sh", "ssh", "srun", "qsub"}, c.Args[0].Lit()) {
		return
	}
	for _, rd := range n.Redirs {
		if (rd.Op == syntax.Hdoc || rd.Op == syntax.DashHdoc) && rd.Hdoc != nil {
			var text syntax.WordPart = &syntax.DblQuoted{Parts: rd.Hdoc.Parts}
			if rd.Word.Lit() == "" {
				text = &syntax.SglQuoted{Value: rd.Hdoc.Lit()}
			}
			c.Args = append(c.Args, literal(stdin), &syntax.Word{Parts: []syntax.WordPart{text}})
		}
	}
}

// leave runs after the children of a node were rewritten.
func (w *rewriting) leave(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Word:
		w.braces(n)
		for i, part := range n.Parts { // the interpreter would ask the system for the folder of ~
			if lit, is := part.(*syntax.Lit); is && strings.HasPrefix(lit.Value, "~") {
				n.Parts[i] = &syntax.Lit{Value: `\` + lit.Value}
			}
		}
		n.Parts = w.parts(n.Parts, w.tests[n], false)
	case *syntax.DblQuoted:
		n.Parts = w.parts(n.Parts, false, true)
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
		w.test(names(n)...)
	case *syntax.Stmt:
		last := len(w.commands) - 1
		c := w.commands[last]
		w.commands = w.commands[:last]
		n.Cmd = command(n.Cmd, c)
	}
}

// Method test stores these variables as variables that the current statement tests.
func (w *rewriting) test(names ...string) {
	last := len(w.commands) - 1
	for _, name := range names {
		if last >= 0 {
			w.commands[last].tests = append(w.commands[last].tests, absent(name, ofWord))
		}
	}
}

// braces refuses a word whose braces, such as {1..9}, expand to too many words.
func (w *rewriting) braces(word *syntax.Word) {
	same := *word
	if syntax.SplitBraces(&same) && expanded(&same) > maxBraces {
		w.err = fmt.Errorf("%w: braces make more than %d words of one", ErrLimit, maxBraces)
	}
}

// expanded returns the number of words to which braces expand a word. It stops counting just above
// the limit.
func expanded(word *syntax.Word) int {
	product := 1
	for _, part := range word.Parts {
		b, is := part.(*syntax.BraceExp)
		if !is {
			continue
		}
		sum := 0
		for _, e := range b.Elems {
			sum += expanded(e)
		}
		if b.Sequence {
			from, failed := strconv.Atoi(b.Elems[0].Lit())
			to, failedToo := strconv.Atoi(b.Elems[1].Lit())
			switch sum = 256; { // a range of letters
			case failed == nil && failedToo == nil && max(from, -from, to, -to) < 1<<30:
				sum = max(from-to, to-from) + 1
			case failed == nil || failedToo == nil:
				sum = maxBraces + 1
			}
		}
		product = min(product*max(1, sum), maxBraces+1)
	}
	return product
}

// Function `in` reports whether the path has a node of type T.
func in[T syntax.Node](path []syntax.Node) bool {
	return slices.ContainsFunc(path, func(n syntax.Node) bool { _, is := n.(T); return is })
}

// quotes reports whether an empty word counts as a word. In the value of a variable it does not
// count, because most values are split into words again.
func (w *rewriting) quotes(quoted bool) bool {
	value := in[*syntax.Assign](w.path) && !in[*syntax.ArrayExpr](w.path)
	return !value && (quoted || in[*syntax.DblQuoted](w.path))
}

// requote adapts the marks in the text of an eval to the quoting of that text.
func (w *rewriting) requote(lit *syntax.Lit) {
	lit.Value = strings.Map(func(c rune) rune {
		if isMark(c) {
			if c &^= 1; w.quotes(false) {
				c++
			}
		}
		return c
	}, lit.Value)
}

// parts rewrites the parts of a word so that a missing value leaves a mark. In conditions and
// arithmetic, a missing value is empty instead, as in bash.
func (w *rewriting) parts(parts []syntax.WordPart, tested, quoted bool) []syntax.WordPart {
	counts := in[*syntax.ArithmExp](w.path) || in[*syntax.ArithmCmd](w.path) || in[*syntax.LetClause](w.path) || in[*syntax.CStyleLoop](w.path)
	tested = tested || in[*syntax.TestClause](w.path)
	kind := ofWord
	if w.quotes(quoted) {
		kind = ofQuoted
	}
	for _, n := range w.path {
		one, is := n.(*syntax.Word)
		tested = tested || is && w.tests[one]
	}
	var all []syntax.WordPart
	for _, p := range parts {
		marked, bare := w.part(p, kind)
		switch {
		case counts && !tested && in[*syntax.ArithmExp](w.path) && len(marked) == 1 && marked[0] != bare && len(names(p)) == 1:
			all = append(all, orElse(nameOf(p.(*syntax.ParamExp)), literal("1").Parts[0])) // 1 avoids a division by 0; the whole expression is guarded
		case counts:
			all = append(all, bare)
		case tested:
			all = append(all, bare)
			w.tested(p, marked)
		default:
			all = append(all, marked...)
		}
	}
	return all
}

// tested records the missing values that the current statement tests in a part of a word.
func (w *rewriting) tested(part syntax.WordPart, marked []syntax.WordPart) {
	last := len(w.commands) - 1
	switch p := part.(type) {
	case *syntax.ParamExp:
		if name := nameOf(p); !slices.Contains(hosts, name) {
			w.test(names(p)...)
		}
	case *syntax.ArithmExp:
		w.test(w.needs[p]...)
	case *syntax.CmdSubst, *syntax.ProcSubst:
		if last >= 0 {
			w.commands[last].tests = append(w.commands[last].tests, marked...)
		}
	}
}

// part returns two replacements for a part of a word: one that marks missing values, and one
// without marks.
func (w *rewriting) part(part syntax.WordPart, kind string) (marked []syntax.WordPart, bare syntax.WordPart) {
	none := func(text string) ([]syntax.WordPart, syntax.WordPart) {
		return []syntax.WordPart{variable(kind + encoded(text))}, variable(unset)
	}
	switch p := part.(type) {
	case *syntax.CmdSubst, *syntax.ProcSubst:
		return none(printed(p))
	case *syntax.ArithmExp:
		return guarded(p, w.needs[p], kind), p
	case *syntax.ParamExp:
		switch name := nameOf(p); {
		case p.Param == nil || p.NestedParam != nil || p.Names != 0 || p.Repl != nil && !short(p.Repl.With):
			return none("${…}")
		case slices.Contains(hosts, name):
			return none("$" + name)
		default:
			return w.variable(p, name, kind)
		}
	}
	return []syntax.WordPart{part}, part
}

// short reports whether the replacement in a pattern substitution is short. With a longer
// replacement, a value could grow without limit.
func short(with *syntax.Word) bool {
	const most = 64
	return with == nil || len(with.Parts) == 0 || with.Lit() != "" && len(with.Lit()) <= most
}

func nameOf(p *syntax.ParamExp) string {
	if p.Param == nil {
		return ""
	}
	return p.Param.Value
}

// printed returns the source text of a part of a word, unless it is long.
func printed(part syntax.WordPart) string {
	const most = 60
	var b strings.Builder
	err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, &syntax.Word{Parts: []syntax.WordPart{part}})
	if text := b.String(); err == nil && len(text) <= most && !strings.Contains(text, "__") {
		return text
	}
	return "$(…)"
}

// variable rewrites the use of a variable. The interpreter supports only nine arguments.
func (w *rewriting) variable(p *syntax.ParamExp, name, kind string) ([]syntax.WordPart, syntax.WordPart) {
	if n, err := strconv.Atoi(name); err == nil && n > 9 {
		if n <= len(w.r.given.Args) && !w.r.shifts && !in[*syntax.FuncDecl](w.path) {
			lit := &syntax.Lit{Value: w.r.given.Args[n-1]}
			return []syntax.WordPart{lit}, lit
		}
		name = "__" + name
		p.Param = &syntax.Lit{Value: name}
	}
	if p.Exp != nil {
		switch p.Exp.Op { //nolint:exhaustive // other operators need a value
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			p.Exp = nil
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			return []syntax.WordPart{p}, p
		}
	}
	switch {
	case p.Index != nil || slices.Contains([]string{"@", "*", "#", "?", "-"}, name):
		return []syntax.WordPart{p}, p
	case p.Excl || p.Length || p.Slice != nil || p.Repl != nil || p.Exp != nil:
		return guarded(p, []string{name}, kind), p
	}
	p.Short = false
	return []syntax.WordPart{orElse(name, variable(kind+name))}, p
}

// variable returns the expression that uses a variable.
func variable(name string) *syntax.ParamExp {
	return &syntax.ParamExp{Param: &syntax.Lit{Value: name}}
}

func literal(text string) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: text}}}
}

// orElse returns an expression that gives a variable's value. If the variable has no value, the
// expression gives the argument `other`.
func orElse(name string, other syntax.WordPart) *syntax.ParamExp {
	p := variable(name)
	p.Exp = &syntax.Expansion{Op: syntax.DefaultUnset, Word: &syntax.Word{Parts: []syntax.WordPart{other}}}
	return p
}

// ifSet returns an expression that gives the argument `other` if a variable has a value. Otherwise
// the expression gives nothing.
func ifSet(name string, other syntax.WordPart) *syntax.ParamExp {
	p := orElse(name, other)
	p.Exp.Op = syntax.AlternateUnset
	return p
}

// absent returns an expression that gives a variable's mark if the variable has no value. Otherwise
// the expression gives nothing. Its form is ${MARK:0:9-${NAME+9}}.
func absent(name, kind string) *syntax.ParamExp {
	p := variable(kind + name)
	all := literal("9")
	p.Slice = &syntax.Slice{Offset: literal("0"), Length: &syntax.BinaryArithm{
		Op: syntax.Sub, X: all, Y: &syntax.Word{Parts: []syntax.WordPart{ifSet(name, all.Parts[0])}},
	}}
	return p
}

// guarded returns expressions that give the argument part if all the named variables have values.
// Otherwise they give the marks of the variables without a value.
func guarded(part syntax.WordPart, names []string, kind string) []syntax.WordPart {
	for _, name := range names {
		part = ifSet(name, part)
	}
	all := []syntax.WordPart{part}
	for _, name := range names {
		all = append(all, absent(name, kind))
	}
	return all
}

// names returns the variables whose values a node needs. It leaves out variables that the node
// assigns and variables that the node uses with a default.
func names(n syntax.Node) []string {
	var all, set []string
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			plain := n.Exp == nil && n.Index == nil && (syntax.ValidName(nameOf(n)) || strings.Trim(nameOf(n), "123456789") == "")
			if plain && nameOf(n) != unset && nameOf(n) != "" {
				all = append(all, nameOf(n))
			}
			return false
		case *syntax.BinaryArithm:
			if word, is := n.X.(*syntax.Word); is && strings.HasSuffix(n.Op.String(), "=") && n.Op != syntax.Eql && n.Op != syntax.Leq && n.Op != syntax.Geq && n.Op != syntax.Neq {
				set = append(set, word.Lit())
			}
		case *syntax.Word:
			if name := n.Lit(); syntax.ValidName(name) {
				all = append(all, name)
			}
		}
		return true
	})
	all = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(set, name) })
	slices.Sort(all)
	return slices.Compact(all)
}

// call returns a statement that runs a command.
func call(name string, args ...syntax.WordPart) *syntax.Stmt {
	words := []*syntax.Word{literal(name)}
	for _, a := range args {
		words = append(words, &syntax.Word{Parts: []syntax.WordPart{a}})
	}
	return &syntax.Stmt{Cmd: &syntax.CallExpr{Args: words}}
}

// command rewrites the command of a statement. Loops and functions count their turns, and each
// assignment is reported. The two sides of a pipe run one after the other.
func command(cmd syntax.Command, c counted) syntax.Command {
	block := func(all ...*syntax.Stmt) *syntax.Block { return &syntax.Block{Stmts: all} }
	alone := func(s *syntax.Stmt) *syntax.Stmt {
		return &syntax.Stmt{Cmd: &syntax.Subshell{Stmts: []*syntax.Stmt{s}}}
	}
	step := call(stepped, literal(strconv.Itoa(c.uses)).Parts[0])
	var assigns []*syntax.Assign
	switch n := cmd.(type) {
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			cmd = block(alone(n.X), alone(n.Y))
		}
	case *syntax.CoprocClause:
		cmd = block(alone(n.Stmt))
	case *syntax.TimeClause:
		if cmd = block(step); n.Stmt != nil {
			cmd = block(n.Stmt)
		}
	case *syntax.WhileClause:
		n.Do = append([]*syntax.Stmt{step}, n.Do...)
	case *syntax.ForClause:
		if n.Do = append([]*syntax.Stmt{step}, n.Do...); n.Select {
			cmd = block(step)
		}
	case *syntax.FuncDecl:
		n.Body = &syntax.Stmt{Cmd: block(step, n.Body)}
	case *syntax.CallExpr:
		if len(n.Args) == 0 {
			assigns = n.Assigns
		}
	case *syntax.DeclClause:
		assigns = n.Args
	}
	var after []*syntax.Stmt
	for _, a := range assigns {
		if a.Name != nil && !a.Naked && syntax.ValidName(a.Name.Value) {
			value := variable(a.Name.Value)
			value.Index = literal("*")
			after = append(after, call(assigned, &syntax.Lit{Value: a.Name.Value}, &syntax.DblQuoted{Parts: []syntax.WordPart{value}}))
		}
	}
	if len(after) > 0 {
		cmd = block(append([]*syntax.Stmt{{Cmd: cmd}}, after...)...)
	}
	if len(c.tests) > 0 {
		cmd = block(call(tested, c.tests...), &syntax.Stmt{Cmd: cmd})
	}
	return cmd
}
