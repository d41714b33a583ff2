package trainer

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"zbench/bench/pattern"
	"zbench/bench/slice"
)

// Setting is one setting of a trainer that was found in a file: its key in lower
// case with underscores, and its value as written, variables replaced.
type Setting struct {
	// Name in lower case with underscores.
	Key string `json:"key"`
	// Value as written, variables replaced.
	Value string `json:"value"`
	// Unset is what the file has instead of a value, where that is a variable that
	// it does not set.
	Unset string `json:"unset,omitempty"`
}

// Settings finds the settings that a bucket size depends on in a trainer's file, of the
// kinds that Reads lists. It ignores the rest of the file.
func Settings(text string) ([]Setting, error) {
	found, err := pairs(text)
	if err != nil {
		return nil, err
	}
	list := []Setting{}
	for _, p := range found {
		if known(p.Key) {
			p.Value = unfoldered(p.Value)
			list = append(list, p)
		}
	}
	return list, nil
}

// known reports whether a key belongs to any trainer.
func known(name string) bool {
	return slices.ContainsFunc(table, func(t Trainer) bool {
		return slices.ContainsFunc(slices.Concat(t.keys, t.beside), func(k key) bool { return k.name == name })
	})
}

// ReadConfig is ReadSettings of what Settings finds in a text.
func ReadConfig(text, want string) (*Config, error) {
	list, err := Settings(text)
	if err != nil {
		return nil, err
	}
	return ReadSettings(list, want)
}

// unfoldered is a value; a path is reduced to the file's name, because a record has no
// local paths.
func unfoldered(value string) string {
	if strings.Contains(value, "/") {
		return path.Base(value)
	}
	return value
}

// ErrConfig is wrapped by every error of ReadConfig.
var ErrConfig = errors.New("no trainer's settings")

// maxConfig bounds a trainer's configuration.
const maxConfig = 4 << 20

// pairs finds the settings in YAML, JSON (comments allowed), or anything that
// has --key value, --key=value or key=value in it: arguments, shell, Python. A flag
// without a value has the value true.
func pairs(text string) ([]Setting, error) {
	if len(text) > maxConfig {
		return nil, fmt.Errorf("%w: larger than %d MiB", ErrConfig, maxConfig>>20)
	}
	found, err := fromYAML(text)
	if err == nil {
		return found, nil
	}
	words := fromWords(text)
	if strings.HasPrefix(strings.TrimSpace(text), "{") && ownerOf(words) == "" {
		return nil, fmt.Errorf("%w: invalid JSON: %w", ErrConfig, err)
	}
	return words, nil
}

// fromYAML flattens a document, or JSON, to its leaves.
func fromYAML(text string) (out []Setting, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("no settings with names")
	}
	leaves(doc.Content[0], "", 0, &out)
	return out, nil
}

// leaves walks a mapping. Anchors are not followed: they could grow without end.
func leaves(n *yaml.Node, key string, depth int, out *[]Setting) {
	const deepest = 50
	switch {
	case depth > deepest:
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if name == "enabled" || name == "device" {
				name = key + "." + name // ambiguous without its parent
			} else if slices.Contains(bridgeParts, key+".") {
				name = key + "." + name
			}
			leaves(n.Content[i+1], name, depth+1, out)
		}
	case n.Kind == yaml.SequenceNode && key != "":
		list := slice.Map(n.Content, func(one *yaml.Node) string { return one.Value })
		*out = append(*out, Setting{Key: normal(key), Value: strings.Join(list, ":")})
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null" && key != "":
		*out = append(*out, variablePair(normal(key), n.Value, shell{}))
	}
}

// normal is a key without dashes before it and with underscores in it.
func normal(key string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(key, "-")), "-", "_")
}

var (
	comment = pattern.New(`(?m)(^|\s)#.*$`)
	product = pattern.New(`(\d)\s*\*\s*(\d)`)
	word    = pattern.New(`"[^"\n]*"|'[^'\n]*'|[^\s"'(),;\[\]{}]+`)
	// assigned is NAME=value; the name may have dots, as ddp.bucket_size has.
	assigned = pattern.New(`^(-{0,2}[A-Za-z_][\w.-]*)=(.*)$`)
	braces   = pattern.New(`\$\{[^}\n]*\}`)
	hidden   = pattern.New("\x00(\\d{1,7})\x01")
	// variable is $NAME, ${NAME}, ${NAME:-default}, or Primus's ${NAME:default}.
	variable = pattern.New(`\$\{([A-Za-z_]\w*)(?:(?::-|-|:)([^}]*))?\}|\$([A-Za-z_]\w*)`)
	// literal is shell arithmetic that only multiplies numbers.
	literal = pattern.New(`\$\(\(([\d\s*]+)\)\)`)
	// numbers is a list of numbers, which becomes one word with colons.
	numbers = pattern.New(`=[\[(][\d.,\s]+[\])]`)
)

// maxValue bounds the value of a shell variable: variables that hold each other
// could grow without end.
const maxValue = 64 << 10

// shell is the variables that a text has set so far.
type shell map[string]string

// expand replaces variables by what was set before, or by their default.
func (sh shell) expand(s string) string {
	s = variable.ReplaceAllStringFunc(unquoted(s), func(use string) string {
		m := variable.FindStringSubmatch(use)
		if v, known := sh[m[1]+m[3]]; known {
			return v
		}
		return m[2]
	})
	if len(s) > maxValue {
		return ""
	}
	return s
}

// variablePair is a setting whose variables are replaced.
func variablePair(key, written string, sh shell) Setting {
	p := Setting{Key: key, Value: sh.expand(written)}
	if p.Value == "" && variable.MatchString(written) {
		p.Unset = unquoted(written)
	}
	return p
}

// fromWords reads arguments, shell and Python. Variables of the shell are
// replaced where the text sets them before or gives a default.
func fromWords(text string) []Setting {
	text = comment.ReplaceAllString(text, "$1")
	text = literal.ReplaceAllString(text, "$1")
	text = product.ReplaceAllString(strings.ReplaceAll(text, "\\\n", " "), "$1*$2")
	text = strings.NewReplacer(" = ", "=", "= ", "=").Replace(text)
	text = numbers.ReplaceAllStringFunc(text, func(list string) string {
		return "=" + strings.Join(strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("=[](), \t\n", r) }), ":")
	})
	sh := shell{}
	var out []Setting
	words := split(text)
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		if m := assigned.FindStringSubmatch(w); m != nil {
			value := sh.expand(m[2])
			if value == "" && strings.ContainsAny(next[:min(1, len(next))], `"'`) {
				value = sh.expand(next) // NAME="…" is two words here
				for inner := range strings.FieldsSeq(value) {
					if f := assigned.FindStringSubmatch(inner); f != nil {
						out = append(out, Setting{Key: normal(f[1]), Value: f[2]})
					}
				}
			}
			sh[m[1]] = value
			out = append(out, Setting{Key: normal(m[1]), Value: value})
			continue
		}
		if !strings.HasPrefix(w, "--") {
			continue
		}
		if next == "" || strings.HasPrefix(next, "-") || assigned.MatchString(next) {
			next = "true"
		}
		out = append(out, variablePair(normal(w), next, sh))
	}
	return out
}

// split is the words of a text. A ${NAME:-default} stays one, whatever quotes are in it and before it.
func split(text string) []string {
	var kept []string
	text = braces.ReplaceAllStringFunc(text, func(s string) string {
		kept = append(kept, s)
		return fmt.Sprintf("\x00%d\x01", len(kept)-1)
	})
	words := word.FindAllString(text, -1)
	for i, w := range words {
		words[i] = hidden.ReplaceAllStringFunc(w, func(s string) string {
			var n int
			if _, err := fmt.Sscanf(s, "\x00%d\x01", &n); err != nil || n >= len(kept) {
				return ""
			}
			return kept[n]
		})
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

func unquoted(s string) string { return strings.Trim(s, `"'`) }
