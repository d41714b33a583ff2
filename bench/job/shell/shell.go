// Package shell reads shell scripts. Read follows a script as bash would and returns the commands
// that it would start, but starts no process and opens no file. It uses the interpreter of
// mvdan.cc/sh. The script is rewritten first (rewrite.go): everything that would leave the
// interpreter is removed, and a missing value leaves a mark in the arguments.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"zbench/bench/base/slice"
)

// Given holds the input of a script: its arguments, and its variables by name.
type Given struct {
	Args []string
	Set  map[string]string
}

// Arg is a word of a command.
type Arg struct {
	// Text is the word without its missing values.
	Text string
	// Missing names the missing values in the word: "$TP", "$TP ($1)", "$(nproc)".
	Missing []string
	// Gone is true if bash would drop the word, because all of it is missing.
	Gone bool
}

// Command is a command that the script would start, with the variables that it exports.
type Command struct {
	Args []Arg
	Env  map[string]string
}

// Var is a variable with the words of its value.
type Var struct {
	Name  string
	Words []Arg
}

// Reading is what Read found in a script.
type Reading struct {
	Commands []Command
	// Vars are the variables at the end of the script, in the order of assignment.
	Vars []Var
	// Conditions names the missing values that conditions test. Read followed the branch of an
	// empty value, as bash does.
	Conditions []string
	// Elsewhere lists other files that the script runs or sources.
	Elsewhere []string
	// Failed is true if the script ends with an error.
	Failed bool
}

// Limits for a script, so that reading it always ends soon.
const (
	maxScript = 128 << 10 // bytes
	maxSteps  = 10_000    // commands and turns of loops; a command with long words counts more
	maxCalls  = 500       // calls of functions, which may be nested
	maxValue  = 16 << 10  // bytes of a variable
	maxUses   = 512       // expansions in one command
	maxBraces = 1_000     // words to which braces expand one word
	maxNested = 200       // open brackets
	stepBytes = 256       // bytes of a word that count as one more step
)

// ErrSyntax is wrapped by the error about a text that is not a shell script. ErrLimit is wrapped by
// the error about a script that is too large or does not end.
var (
	ErrSyntax = errors.New("not a shell script")
	ErrLimit  = errors.New("the script takes too many steps")
)

// Read follows a script. If the error wraps ErrLimit, got has the part that was read before.
func Read(text string, given Given) (got Reading, err error) {
	r := &reader{given: given, elsewhere: map[string][]string{}}
	defer func() {
		if p := recover(); p != nil { // the interpreter panicked on unexpected input
			err = fmt.Errorf("%w: %v", ErrSyntax, p)
		}
	}()
	file, err := r.parse(text)
	if err != nil {
		return got, err
	}
	vars, err := r.run(file, given.Args, given.Set)
	for _, name := range r.order {
		v, set := vars[name]
		if v.Kind == expand.String {
			v.List = strings.Fields(v.Str)
		}
		if set {
			r.got.Vars = append(r.got.Vars, Var{name, slice.Map(v.List, r.arg)})
		}
	}
	return r.got, err
}

// Split splits a text into words as a shell does.
func Split(text string) (words []string, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	got, err := Read("- "+text, Given{})
	if err == nil && len(got.Commands) != 1 {
		err = fmt.Errorf("%w: %q is more than words", ErrSyntax, text)
	}
	if err != nil {
		return nil, err
	}
	return slice.Map(got.Commands[0].Args[1:], func(a Arg) string { return a.Text }), nil
}

// reader follows one script, including the text that it runs in other shells.
type reader struct {
	given Given
	got   Reading
	steps int
	// missing has the names of missing values. A mark is an index into it.
	missing []string
	// The map elsewhere has the missing values that the script assigned to a variable, by variable.
	elsewhere map[string][]string
	// functions are the names of functions that the script declares.
	functions []string
	// shifts is true if the script changes its arguments.
	shifts bool
	// order has the variables in the order of their last assignments.
	order []string
}

// Marks are private-use characters that stand for missing values. There are two marks per entry of
// reader.missing. The even mark stands for an unquoted value, and the odd mark stands for a quoted
// value.
const (
	firstMark = 0xE000
	lastMark  = 0xF8FF
)

func isMark(c rune) bool { return c >= firstMark && c <= lastMark }

// mark returns the character that stands for a missing value.
func (r *reader) mark(name string, quoted bool) string {
	at := slices.Index(r.missing, name)
	if at < 0 {
		at = min(len(r.missing), (lastMark-firstMark)/2)
		r.missing = append(r.missing[:at], name)
	}
	c := rune(firstMark + 2*at)
	if quoted {
		c++
	}
	return string(c)
}

// unmarked removes the marks from a word.
func unmarked(word string) string {
	return strings.Map(func(c rune) rune {
		if isMark(c) {
			return -1
		}
		return c
	}, word)
}

// arg decodes the marks in a word.
func (r *reader) arg(word string) Arg {
	a := Arg{Text: unmarked(word), Gone: word != ""}
	for _, c := range word {
		a.Gone = a.Gone && isMark(c) && (c-firstMark)%2 == 0
		if i := int(c-firstMark) / 2; isMark(c) && i < len(r.missing) && !slices.Contains(a.Missing, r.missing[i]) {
			a.Missing = append(a.Missing, r.missing[i])
		}
	}
	return a
}

// spend counts a step, and further steps for long words. It fails above the limit.
func (r *reader) spend(words ...string) error {
	r.steps++
	for _, w := range words {
		r.steps += len(w) / stepBytes
	}
	if r.steps += len(words) / 16; r.steps > maxSteps {
		return fmt.Errorf("%w: more than %d commands and turns of loops", ErrLimit, maxSteps)
	}
	return nil
}

// parse parses and rewrites a text.
func (r *reader) parse(text string) (*syntax.File, error) {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[', '`', '!':
			open++
		case ')', '}', ']', '\n':
			open = 0
		}
		if open > maxNested {
			return nil, fmt.Errorf("%w: more than %d open brackets", ErrSyntax, maxNested)
		}
	}
	if len(text) > maxScript {
		return nil, fmt.Errorf("%w: larger than %d KiB", ErrLimit, maxScript>>10)
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for tries := 0; ; tries++ {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
		if err == nil {
			return file, r.rewrite(file)
		}
		at, is := errors.AsType[syntax.ParseError](err)
		if i := int(at.Pos.Offset()); is && tries < maxNested && i < len(text) && text[i] == '[' {
			text = text[:i] + `\` + text[i:] // the parser mistakes the [0] in A=([0]*3) for an index, but the text is a word
			continue
		}
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
}

// run follows a script in a shell of its own and returns that shell's variables.
func (r *reader) run(file *syntax.File, args []string, vars map[string]string) (map[string]expand.Variable, error) {
	none := func(op string) error { return &fs.PathError{Op: op, Path: "", Err: fs.ErrNotExist} }
	shell, err := interp.New(
		interp.Env(environ{r, vars}), interp.Dir("/"), interp.Params(append([]string{"--"}, args...)...), interp.StdIO(nil, nil, nil),
		interp.CallHandler(func(_ context.Context, args []string) ([]string, error) { return r.call(args) }),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return r.started }),
		interp.OpenHandler(func(context.Context, string, int, fs.FileMode) (io.ReadWriteCloser, error) { return nil, none("open") }),
		interp.ReadDirHandler2(func(context.Context, string) ([]fs.DirEntry, error) { return nil, nil }),
		interp.StatHandler(func(_ context.Context, name string, _ bool) (fs.FileInfo, error) {
			r.condition("the file " + path.Base(unmarked(name)))
			return nil, none("stat")
		}),
		interp.AccessHandler(func(context.Context, string, interp.AccessMode) error { return none("access") }),
	)
	if err != nil {
		return nil, err
	}
	err = shell.Run(context.Background(), file)
	if status, exited := errors.AsType[interp.ExitStatus](err); exited {
		r.got.Failed, err = status != 0 && shell.Exited(), nil
	}
	return shell.Vars, err
}

// environ holds the initial variables of a shell. Names that rewrite made stand for missing values.
type environ struct {
	r    *reader
	vars map[string]string
}

func (e environ) Get(name string) expand.Variable {
	value, given := e.vars[name]
	switch kind, of := kindOf(name); kind {
	case ofWord, ofQuoted:
		if value, given = e.vars[of]; !given {
			value, given = e.r.marks(of, kind == ofQuoted), true
		}
	default:
		if !given && slices.Contains(hosts, name) {
			given = true // an empty value, because the interpreter would ask the system for a variable that is not set
		}
	}
	if !given {
		return expand.Variable{}
	}
	return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: value}
}

func (e environ) Each(f func(string, expand.Variable) bool) {
	for name := range e.vars {
		if !f(name, e.Get(name)) {
			return
		}
	}
}

// marks returns the marks for a name. If a variable was set from missing values, the function
// returns the marks of these values.
func (r *reader) marks(name string, quoted bool) (all string) {
	for _, from := range r.origins(name) {
		all += r.mark(from, quoted)
	}
	return all
}

// origins describes a name without a value for people.
func (r *reader) origins(name string) []string {
	if from := r.elsewhere[name]; len(from) > 0 {
		return from
	}
	return []string{"$" + strings.TrimLeft(name, "$_")}
}

// quiet are builtins that would read, print, or leave the script. They do nothing and return this
// status.
var quiet = map[string]string{
	"trap": "true", "alias": "true", "unalias": "true", "shopt": "true", "wait": "true", "cd": "true", "pushd": "true", "popd": "true", "dirs": "true",
	"type": "true", "hash": "true", "mapfile": "true", "readarray": "true", "times": "true", "help": "true", "echo": "true", "printf": "true",
	"pwd": "true", "read": "false", "true": "true", "false": "false",
}

// call changes a command before it runs. The command may be a builtin, a function or a program.
func (r *reader) call(args []string) ([]string, error) {
	if err := r.spend(args...); err != nil {
		return nil, err
	}
	for len(args) > 1 && (args[0] == "builtin" || args[0] == "command") {
		if args = args[1:]; strings.HasPrefix(args[0], "-") {
			return []string{"true"}, nil
		}
	}
	name := args[0]
	switch status := quiet[name]; {
	case slices.Contains(r.functions, name):
		r.steps += maxSteps / maxCalls
		return slices.DeleteFunc(args, func(a string) bool { return r.arg(a).Gone }), nil
	case name == stepped && len(args) == 2:
		uses, _ := strconv.Atoi(args[1]) // inserted by rewrite
		r.steps += uses
		return []string{"true"}, nil
	case name == tested:
		for _, a := range args[1:] {
			r.condition(r.arg(a).Missing...)
		}
		return []string{"true"}, nil
	case name == assigned && len(args) == 3:
		return r.assigned(args[1], args[2])
	case status != "":
		return []string{status}, nil
	case name == "eval":
		r.steps += maxSteps / maxCalls
		return r.eval(strings.Join(args[1:], " "))
	case name == "source" || name == ".":
		r.other(args[1:]...)
		return []string{"true"}, nil
	case interp.IsBuiltin(name) && name != "exec":
		args = slices.DeleteFunc(args, func(a string) bool { return r.arg(a).Gone })
		for i := range args {
			args[i] = unmarked(args[i])
		}
	}
	return args, nil
}

// condition stores the names of missing values that conditions test.
func (r *reader) condition(names ...string) {
	r.got.Conditions = append(r.got.Conditions, names...)
	slices.Sort(r.got.Conditions)
	r.got.Conditions = slices.Compact(r.got.Conditions)
}

// Method `other` stores the name of a file that the script runs or sources.
func (r *reader) other(words ...string) {
	if len(words) > 0 && unmarked(words[0]) != "" {
		r.got.Elsewhere = append(r.got.Elsewhere, path.Base(unmarked(words[0])))
	}
}

// assigned follows an assignment. A variable that was set from a missing value stays without a
// value, because conditions and defaults treat it as empty.
func (r *reader) assigned(name, value string) ([]string, error) {
	if len(value) > maxValue {
		return nil, fmt.Errorf("%w: %s has more than %d KiB", ErrLimit, name, maxValue>>10)
	}
	delete(r.elsewhere, name)
	r.order = append(slices.DeleteFunc(r.order, func(n string) bool { return n == name }), name)
	a := r.arg(value)
	if a.Missing == nil || a.Text != "" {
		return []string{"true"}, nil
	}
	if given, has := r.given.Set[name]; has {
		quoted, err := syntax.Quote(given, syntax.LangBash)
		return []string{"eval", name + "=" + quoted}, err
	}
	for _, from := range a.Missing {
		if from != "$"+name {
			from = "$" + name + " (" + from + ")"
		}
		r.elsewhere[name] = append(r.elsewhere[name], from)
	}
	return []string{"unset", name}, nil
}

// eval runs the builtin eval with its text rewritten.
func (r *reader) eval(text string) ([]string, error) {
	file, err := r.parse(text)
	if errors.Is(err, ErrSyntax) {
		return []string{"false"}, nil
	}
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	err = syntax.NewPrinter().Print(&b, file)
	return []string{"eval", b.String()}, err
}

// started stores a program that the script would start. If the program is a shell that gets a text,
// the text is followed with the exported variables.
func (r *reader) started(ctx context.Context, args []string) error {
	c := Command{Env: map[string]string{}}
	for name, v := range interp.HandlerCtx(ctx).Env.Each {
		if v.Exported && v.Kind == expand.String {
			c.Env[name] = v.Str
		}
	}
	for i, a := range args {
		if a == stdin && i+1 < len(args) {
			return r.nested(args[i+1], nil, c.Env)
		}
		if i+1 == len(args) || !slices.Contains([]string{"bash", "sh", "zsh"}, path.Base(a)) {
			continue
		}
		option := slices.IndexFunc(args[i+1:], func(o string) bool { return !strings.HasPrefix(o, "-") || strings.HasSuffix(o, "c") }) + i + 1
		switch {
		case option > i && strings.HasPrefix(args[option], "-") && option+1 < len(args):
			return r.nested(args[option+1], args[min(option+3, len(args)):], c.Env)
		case option > i && args[option] != stdin:
			r.other(args[option])
		}
	}
	for _, a := range args {
		c.Args = append(c.Args, r.arg(a))
	}
	for name, value := range c.Env {
		c.Env[name] = unmarked(value)
	}
	r.got.Commands = append(r.got.Commands, c)
	return nil
}

// nested follows the text of bash -c.
func (r *reader) nested(text string, args []string, vars map[string]string) error {
	r.steps += maxSteps / maxCalls
	file, err := r.parse(text)
	if errors.Is(err, ErrSyntax) {
		return interp.ExitStatus(2)
	}
	if err == nil {
		_, err = r.run(file, args, vars)
	}
	return err
}
