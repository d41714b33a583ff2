package trainer

import (
	"fmt"
	"strconv"
	"strings"
)

// argument is one setting that a snippet writes, and whether a file has it.
type argument struct {
	key, value string
	has        func(c *Config) bool
}

// arguments is a list of them.
type arguments []argument

func (a *arguments) add(when bool, key, value string, has func(c *Config) bool) {
	if when {
		*a = append(*a, argument{key, value, has})
	}
}

// fresh is a comment with the settings of a snippet that the user's file lacks or
// has otherwise; empty where no file was given. spell writes a key as the form does.
func (s Spelling) fresh(all arguments, spell func(key string) string) string {
	if s.Config == nil {
		return ""
	}
	var names []string
	for _, a := range all {
		if !a.has(s.Config) {
			names = append(names, spell(a.key))
		}
	}
	file := strings.Trim(strconv.Quote(s.File), `"`) // a name may hold a line end
	if len(names) == 0 {
		return fmt.Sprintf("# nothing new: %s has all of this\n", file)
	}
	return fmt.Sprintf("# new or changed against %s: %s\n", file, strings.Join(names, ", "))
}

// bare spells a key as it is, dashed as an argument of a command.
func bare(key string) string   { return key }
func dashed(key string) string { return "--" + strings.ReplaceAll(key, "_", "-") }

func isTrue(b *bool) bool                { return b != nil && *b }
func is[T comparable](p *T, want T) bool { return p != nil && *p == want }

// dtypes reports whether a file has the run's element types.
func (r Run) dtypes(c *Config) bool {
	return c.ParamDtype == r.ParamDtype && c.GradDtype == r.GradDtype
}
