package trainer

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"zbench/bench/pattern"
	"zbench/bench/shell"
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
	// it does not set. The value is "true" then if bash passes the key alone.
	Unset string `json:"unset,omitempty"`
}

// Found is what a trainer's file says.
type Found struct {
	// Form is what was read of it: "its command", "the arguments that the job printed".
	Form string
	// Settings in the order of the file.
	Settings []Setting
	// Notes are sentences about what could not be read.
	Notes []string
	// Unread names settings that look as if they changed collectives and that no trainer here reads.
	Unread []string
}

// Find finds the settings that a bucket size depends on in a trainer's file, of the kinds that Reads lists, or in what the job
// printed of them. It ignores the rest. given is what a shell script gets from outside.
func Find(text string, given shell.Given) (Found, error) {
	found, err := pairs(text, given)
	if err != nil {
		return Found{}, err
	}
	list := []Setting{}
	for _, p := range found.Settings {
		if class := p.Value[strings.LastIndex(p.Value, ".")+1:]; strings.HasSuffix(class, "Strategy") {
			p = Setting{Key: strategy, Value: class} // of Lightning, whatever holds it
		}
		switch name := unsimulatedBy(p); {
		case name != "":
			list = append(list, Setting{Key: programKey, Value: name})
		case known(p.Key):
			p.Value = unfoldered(p.Value)
			list = append(list, p)
		case suspect(p):
			found.Unread = append(found.Unread, p.Key)
		}
	}
	slices.Sort(found.Unread)
	found.Settings, found.Unread = list, slices.Compact(found.Unread)
	return found, nil
}

// Settings are those of Find in a file that needs nothing from outside.
func Settings(text string) ([]Setting, error) {
	found, err := Find(text, shell.Given{})
	return found.Settings, err
}

// suspect reports whether a setting looks as if it changed collectives.
func suspect(p Setting) bool {
	return !isUnset(p.Value) && !strings.EqualFold(p.Value, "false") && contains(p.Key, []string{"fsdp", "zero_", "shard", "quantized_", "bucket", "grad_reduce", "param_gather", "reduce_scatter", "allgather", "all_gather", "allreduce", "all_reduce"})
}

// known reports whether a key belongs to any trainer.
func known(name string) bool {
	return slices.ContainsFunc(launchKeys(), func(k key) bool { return k.name == name }) || slices.ContainsFunc(handedOver, func(x other) bool { return x.name == name }) ||
		slices.ContainsFunc(table, func(t Trainer) bool {
			return t.has(Setting{Key: name}) || slices.ContainsFunc(t.chosenBy, func(x choice) bool { return x.by.Key == name })
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

// maxConfig bounds a trainer's configuration, or the log that prints it.
const maxConfig = 256 << 20

// pairs finds the settings in what a job printed, in YAML or JSON (comments allowed), in a shell script, or in anything that
// has --key value, --key=value or key=value in it: arguments, Python. A flag without a value has the value true.
func pairs(text string, given shell.Given) (Found, error) {
	if len(text) > maxConfig {
		return Found{}, fmt.Errorf("%w: larger than %d MiB", ErrConfig, maxConfig>>20)
	}
	if list := fromLog(text); len(list) > 0 {
		return Found{Form: "the arguments that the job printed", Settings: list}, nil
	}
	list, err := fromYAML(text, given)
	if err == nil {
		return Found{Settings: list}, nil
	}
	found, failed := fromScript(text, given)
	switch first, _, _ := strings.Cut(text, "\n"); {
	case failed == nil && len(found.Settings) > 0:
		return found, nil
	case errors.Is(failed, shell.ErrLimit), errors.Is(failed, errNoLaunch), strings.HasPrefix(first, "#!") && strings.Contains(first, "sh"):
		return Found{}, fmt.Errorf("%w: %w", ErrConfig, cmp.Or(failed, errNoLaunch))
	}
	list = settingsOf(words(text))
	if strings.HasPrefix(strings.TrimSpace(text), "{") && ownerOf(list) == "" {
		return Found{}, fmt.Errorf("%w: invalid JSON: %w", ErrConfig, err)
	}
	return Found{Settings: list}, nil
}

// fromYAML flattens a document, or JSON, to its leaves.
func fromYAML(text string, given shell.Given) (out []Setting, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("no settings with names")
	}
	leaves(doc.Content[0], "", 0, given.Set, &out)
	return out, nil
}

// leaves walks a mapping. Anchors are not followed: they could grow without end.
func leaves(n *yaml.Node, key string, depth int, vars map[string]string, out *[]Setting) {
	const deepest = 50
	switch {
	case depth > deepest:
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if name == "stage" && key == "" {
				continue // of something else, as with LLaMA-Factory
			}
			if name == "enabled" || name == "device" || name == "type" && key == "optimizer" {
				name = key + "." + name // ambiguous without its parent
			} else if slices.Contains(bridgeParts, key+".") {
				name = key + "." + name
			}
			leaves(n.Content[i+1], name, depth+1, vars, out)
		}
	case n.Kind == yaml.SequenceNode && key != "":
		list := slice.Map(n.Content, func(one *yaml.Node) string { return one.Value })
		*out = append(*out, Setting{Key: normal(key), Value: strings.Join(list, ":")})
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null" && key != "":
		*out = append(*out, variablePair(normal(key), n.Value, vars))
	}
}

// normal is a key without dashes before it and with underscores in it.
func normal(key string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(key, "-")), "-", "_")
}

// variable is ${NAME}, ${NAME:-default}, or Primus's ${NAME:default}.
var variable = pattern.New(`\$\{([A-Za-z_]\w*)(?:(?::-|-|:)([^}]*))?\}|\$([A-Za-z_]\w*)`)

// variablePair is a setting of YAML whose variables are replaced by their values or their defaults.
func variablePair(key, written string, vars map[string]string) Setting {
	p := Setting{Key: key, Value: variable.ReplaceAllStringFunc(written, func(use string) string {
		m := variable.FindStringSubmatch(use)
		if v, known := vars[m[1]+m[3]]; known {
			return v
		}
		return m[2]
	})}
	if p.Value == "" && variable.MatchString(written) {
		p.Unset = written
	}
	return p
}

// settingsOf reads words: --key value, --key=value, key=value, and the same in the text of a value.
func settingsOf(args []shell.Arg) []Setting {
	var out []Setting
	for i, a := range args {
		name, value, assigns := strings.Cut(a.Text, "=")
		if !isKey(name) {
			continue
		}
		p := Setting{Key: normal(name), Value: value, Unset: strings.Join(a.Missing, ", ")}
		if !assigns {
			if p.Value = "true"; !strings.HasPrefix(name, "--") {
				continue
			}
			if i+1 < len(args) && isValue(args[i+1]) {
				p.Value, p.Unset = args[i+1].Text, strings.Join(args[i+1].Missing, ", ")
			}
			if i+1 < len(args) && args[i+1].Gone {
				p.Value = "true" // of a switch, whatever may follow
			}
		}
		if strings.ContainsAny(p.Value, " \n") {
			out = append(out, settingsOf(slice.Map(strings.Fields(p.Value), func(w string) shell.Arg { return shell.Arg{Text: w} }))...)
		}
		if p.Unset != "" && p.Value != "true" {
			p.Value = ""
		}
		out = append(out, p)
	}
	return out
}

// isValue reports whether a word is the value of the key before it.
func isValue(a shell.Arg) bool {
	name, _, assigns := strings.Cut(a.Text, "=")
	dashed := strings.HasPrefix(a.Text, "-") && strings.Trim(a.Text, "-.0123456789e") != ""
	return !dashed && (!assigns || !isKey(name) || !known(normal(name)))
}

// isKey reports whether a word can name a setting; the name may have dots, as ddp.bucket_size has.
func isKey(word string) bool {
	bare := strings.TrimLeft(word, "-")
	return bare != "" && len(bare) <= 100 && len(word)-len(bare) != 1 && strings.Trim(bare[:1], "0123456789.-") != "" &&
		strings.IndexFunc(bare, func(c rune) bool {
			return c != '_' && c != '-' && c != '.' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
		}) < 0
}

// words splits Python, or any other text, where its punctuation is. A value follows its = whatever spaces are around, a
// product of numbers is one word, and so is a list of them, with colons.
func words(text string) (all []shell.Arg) {
	const spaces, ends = " \t\r", "\n(),;[]{}"
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			all = append(all, shell.Arg{Text: word.String()})
			word.Reset()
		}
	}
	for text = strings.ReplaceAll(text, "\\\n", " "); text != ""; {
		c, rest := text[0], text[1:]
		after := strings.TrimLeft(rest, spaces)
		switch {
		case c == '"' || c == '\'':
			inside, behind, closed := strings.Cut(rest, string(c))
			if closed && !strings.Contains(inside, "\n") {
				word.WriteString(inside)
				rest = behind
			}
		case c == '#' && word.Len() == 0:
			_, rest, _ = strings.Cut(text, "\n")
		case c == '=' && word.Len() > 0:
			word.WriteByte(c)
			if rest = after; rest != "" && strings.ContainsAny(rest[:1], "[(") {
				list, behind, closed := strings.Cut(rest[1:], map[byte]string{'[': "]", '(': ")"}[rest[0]])
				if closed && (rest[0] == '[' || strings.Trim(list, "0123456789., \n\t") == "") {
					word.WriteString(strings.Join(strings.FieldsFunc(list, func(c rune) bool { return strings.ContainsRune("\"', \n\t", c) }), ":"))
					rest = behind
				}
			}
		case strings.IndexByte(spaces, c) >= 0 && strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "=="):
			rest = after
		case strings.IndexByte(spaces, c) >= 0 && strings.HasPrefix(after, "*"):
			word.WriteByte('*')
			rest = strings.TrimLeft(after[1:], spaces)
		case strings.IndexByte(spaces+ends, c) >= 0:
			end()
		default:
			word.WriteByte(c)
		}
		text = rest
	}
	end()
	return all
}
