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

	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
	"zbench/bench/job/shell"
)

// Setting is one setting in a trainer's file.
type Setting struct {
	// Key is the name in lower case with underscores.
	Key string `json:"key"`
	// Value is the value as written, with variables replaced.
	Value string `json:"value"`
	// Unset is the text in place of the value if the value is a variable that the file does not
	// set. Value is then "true" if bash passes the key alone.
	Unset string `json:"unset,omitempty"`
}

// Found is what Find found in a trainer's file.
type Found struct {
	// Form names the part that was read: "its command", "the arguments that the job printed".
	Form string
	// Settings are in the order of the file.
	Settings []Setting
	// Notes are sentences about parts that could not be read.
	Notes []string
	// Unread names unknown settings that may change the collectives.
	Unread []string

	// nested is true if the settings are a program's own YAML or JSON, not a list of arguments.
	nested bool
}

// Find finds the settings that determine the buckets. It reads a trainer's file of a kind that
// Reads lists, or settings that the job printed, and ignores everything else. given is the input of
// a shell script.
func Find(text string, given shell.Given) (Found, error) {
	found, err := pairs(text, given)
	if err != nil {
		return Found{}, err
	}
	list := []Setting{}
	for _, p := range found.Settings {
		if class := p.Value[strings.LastIndex(p.Value, ".")+1:]; strings.HasSuffix(class, "Strategy") {
			p = Setting{Key: strategy, Value: class} // Lightning names a strategy by its class, in any container
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
	if found.nested && ownerOf(list) == Assumed && !slices.ContainsFunc(list, saysReduction) {
		return Found{}, fmt.Errorf("%w that say whether the optimizer is distributed: the program that reads the file decides; give what the job printed of its settings", ErrConfig)
	}
	slices.Sort(found.Unread)
	found.Settings, found.Unread = list, slices.Compact(found.Unread)
	return found, nil
}

// Settings returns what Find finds in a file that needs no input.
func Settings(text string) ([]Setting, error) {
	found, err := Find(text, shell.Given{})
	return found.Settings, err
}

// suspect reports whether an unknown setting may change the collectives.
func suspect(p Setting) bool {
	return !isUnset(p.Value) && !strings.EqualFold(p.Value, "false") && contains(p.Key, []string{"fsdp", "zero_", "shard", "quantized_", "bucket", "grad_reduce", "param_gather", "reduce_scatter", "allgather", "all_gather", "allreduce", "all_reduce"})
}

// known reports whether a key belongs to any trainer.
func known(name string) bool {
	return sharedKey(name) || hasKey(launchKeys(), name) ||
		slices.ContainsFunc(table, func(t Trainer) bool {
			return t.has(Setting{Key: name}) || slices.ContainsFunc(t.chosenBy(), func(x choice) bool { return x.by.Key == name })
		})
}

// ReadConfig reads the settings in a text with ReadSettings.
func ReadConfig(text, want string) (*Config, error) {
	list, err := Settings(text)
	if err != nil {
		return nil, err
	}
	return ReadSettings(list, want)
}

// unfoldered reduces a path to the name of its file, because a record has no local paths. It
// returns other values unchanged.
func unfoldered(value string) string {
	if strings.Contains(value, "/") {
		return path.Base(value)
	}
	return value
}

// ErrConfig is wrapped by every error of ReadConfig.
var ErrConfig = errors.New("no trainer's settings")

// maxLog bounds a log that prints a trainer's configuration, in bytes. maxConfig bounds a file with
// a configuration.
const (
	maxLog    = 256 << 20
	maxConfig = 4 << 20
)

// pairs finds settings in lines that the job printed, in YAML or JSON (with comments), in a shell
// script, or in any text with --key value, --key=value or key=value, such as arguments and Python.
// A flag without a value has the value true.
func pairs(text string, given shell.Given) (Found, error) {
	if len(text) > maxLog {
		return Found{}, fmt.Errorf("%w: larger than %d MiB", ErrConfig, maxLog>>20)
	}
	if list := fromLog(text); len(list) > 0 {
		return Found{Form: "the arguments that the job printed", Settings: list}, nil
	}
	if len(text) > maxConfig {
		return Found{}, fmt.Errorf("%w printed in it, and it is larger than %d MiB", ErrConfig, maxConfig>>20)
	}
	list, err := fromYAML(text, given)
	if err == nil {
		return Found{Settings: list, nested: !argumentKey.MatchString(text)}, nil
	}
	found, failed := fromScript(text, given)
	switch first, _, _ := strings.Cut(text, "\n"); {
	case failed == nil && len(found.Settings) > 0:
		return found, nil
	case errors.Is(failed, shell.ErrLimit), errors.Is(failed, errNoLaunch), strings.HasPrefix(first, "#!") && strings.Contains(first, "sh"):
		return Found{}, fmt.Errorf("%w: %w", ErrConfig, cmp.Or(failed, errNoLaunch))
	}
	if strings.HasPrefix(text, "import ") || strings.Contains(text, "\nimport ") || strings.HasPrefix(text, "from ") || strings.Contains(text, "\ndef ") {
		return fromProgram(text)
	}
	list = settingsOf(words(text, false))
	if strings.HasPrefix(strings.TrimSpace(text), "{") && ownerOf(list) == "" {
		return Found{}, fmt.Errorf("%w: invalid JSON: %w", ErrConfig, err)
	}
	return Found{Settings: list}, nil
}

// argumentKey matches a YAML key that is an argument, as in the files of Megatron's tests.
var argumentKey = pattern.New(`(?m)^\s*["']?--\w`)

// fromYAML returns the leaves of a YAML or JSON document.
func fromYAML(text string, given shell.Given) (out []Setting, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("no settings with names")
	}
	vars := values{given: given.Set, paths: map[string]string{}}
	if strings.Contains(text, "${") {
		vars.add(doc.Content[0], "", 0)
	}
	leaves(doc.Content[0], "", 0, vars, &out)
	return out, nil
}

// leaves collects the leaves of a mapping. It does not follow anchors, because they could make the
// document grow without limit.
func leaves(n *yaml.Node, key string, depth int, vars values, out *[]Setting) {
	switch {
	case depth > deepestYAML:
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			switch {
			case name == "stage" && key == "":
				continue // a key of another part, as in LLaMA-Factory
			case key == "peft" && name == "_target_":
				name = key // Hydra names the method by its class
			case key == "fsdp_config" && !strings.HasPrefix(name, "fsdp_"):
				name = "fsdp_" + name // Hugging Face and Axolotl allow the short name there
			}
			if name == "enabled" || name == "device" || name == "type" && key == "optimizer" || name == "name" && (key == "optim" || key == "dist_config") {
				name = key + "." + name // ambiguous without the parent's name
			} else if slices.Contains(bridgeParts, key+".") || key == "optimizer" && known(key+"."+name) {
				name = key + "." + name
			}
			leaves(n.Content[i+1], name, depth+1, vars, out)
		}
	case n.Kind == yaml.SequenceNode && key != "":
		list := slice.Map(n.Content, func(one *yaml.Node) string { return one.Value })
		*out = append(*out, Setting{Key: normal(key), Value: strings.Join(list, ":")})
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null" && key != "":
		p := Setting{Key: normal(key)}
		if p.Value = vars.in(n.Value, 0); strings.Contains(p.Value, "${") || p.Value == "" && variable.MatchString(n.Value) {
			p.Value, p.Unset = "", n.Value
		}
		*out = append(*out, p)
	}
}

// normal returns a key without leading dashes, and with underscores instead of dashes.
func normal(key string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(key, "-")), "-", "_")
}

// deepestYAML is the largest nesting of mappings and of references.
const deepestYAML = 50

// variable matches ${NAME}, ${NAME:-default}, Primus's ${NAME:default}, Hydra's ${a.b} and
// ${oc.env:NAME,default}.
var variable = pattern.New(`\$\{(?:oc\.env:)?([A-Za-z_][\w.]*)(?:(?::-|-|:|,)([^${}]*))?\}|\$([A-Za-z_]\w*)`)

// values has the values of a document's variables. given has the user's values, and paths has the
// document's own scalars by their path.
type values struct{ given, paths map[string]string }

// add collects the scalars of a mapping.
func (v values) add(n *yaml.Node, at string, depth int) {
	for i := 0; n.Kind == yaml.MappingNode && depth <= deepestYAML && i+1 < len(n.Content); i += 2 {
		name, value := at+n.Content[i].Value, n.Content[i+1]
		if value.Kind == yaml.ScalarNode && value.Tag != "!!null" {
			v.paths[name] = value.Value
		}
		v.add(value, name+".", depth+1)
	}
}

// Method `in` replaces the variables in a text. A variable without a value becomes empty. A
// variable for a resolver of Hydra stays as it is.
func (v values) in(text string, depth int) string {
	if depth > deepestYAML || len(text) > 1<<10 {
		return ""
	}
	return variable.ReplaceAllStringFunc(text, func(use string) string {
		m := variable.FindStringSubmatch(use)
		if value, known := v.given[m[1]+m[3]]; known {
			return value
		}
		if value, known := v.paths[m[1]]; known {
			return v.in(value, depth+1)
		}
		if strings.HasPrefix(use, "${"+m[1]+":") && m[1] == strings.ToLower(m[1]) && !strings.HasPrefix(use, "${"+m[1]+":-") {
			return use // Hydra resolves this expression, so it stays as it is
		}
		return m[2]
	})
}

// settingsOf reads words: --key value, --key=value, key=value, and the same forms inside a value.
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
				p.Value = "true" // a switch, whatever follows
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

// isKey reports whether a word can name a setting. The name may contain dots, as in
// ddp.bucket_size.
func isKey(word string) bool {
	bare := strings.TrimLeft(word, "-")
	return bare != "" && len(bare) <= 100 && len(word)-len(bare) != 1 && strings.Trim(bare[:1], "0123456789.-") != "" &&
		strings.IndexFunc(bare, func(c rune) bool {
			return c != '_' && c != '-' && c != '.' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
		}) < 0
}

// fromProgram reads a Python program, in which settings are attributes or arguments. If a program
// sets one setting to two values, it has more than one configuration.
func fromProgram(text string) (Found, error) {
	found := Found{Settings: settingsOf(words(text, true))}
	if strings.Contains(text, "megatron.bridge.recipes") {
		return Found{}, fmt.Errorf("%w: it is a recipe of Megatron-Bridge, which others complete; give the configuration that the job prints", ErrConfig)
	}
	if strings.Contains(text, "CommOverlap") {
		found.Notes = append(found.Notes, "it names Megatron's CommOverlap: where that is used, both overlaps are on and buckets have 134217728 elements")
	}
	values := map[string]string{}
	for i, p := range found.Settings {
		if last := p.Key[strings.LastIndex(p.Key, ".")+1:]; !known(p.Key) && known(last) {
			p.Key, found.Settings[i].Key = last, last
		}
		if p.Unset == p.Key || !known(p.Key) { // key=key passes on an argument
			continue
		}
		value := strings.ToLower(cmp.Or(p.Unset, p.Value))
		if before, twice := values[p.Key]; twice && before != value {
			return Found{}, fmt.Errorf("%w: the program sets %s to %s and to %s, and which of them counts is not read; give what the job printed of its settings", ErrConfig, p.Key, before, value)
		}
		values[p.Key] = value
	}
	// A sequence length alone does not show that a program uses Megatron.
	rest := slices.DeleteFunc(slices.Clone(found.Settings), func(p Setting) bool { return p.Key == sequence })
	switch owner := ownerOf(rest); {
	case owner == "":
		found.Settings = rest
	case owner == Assumed && !slices.ContainsFunc(rest, switchesOn):
		return Found{}, fmt.Errorf("%w that say whether the optimizer is distributed: other functions than those of this program may; give what the job printed of its settings", ErrConfig)
	}
	return found, nil
}

// variableName reports whether a value in a program is the name of another variable.
func variableName(value string) bool {
	return value != "" && strings.Trim(value[:1], "_abcdefghijklmnopqrstuvwxyz") == "" && strings.Trim(value, "_.abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// words splits Python, or any other text, at its punctuation. A value belongs to the = before it,
// even if spaces precede or follow the =. A product of numbers is one word. A list of numbers also
// becomes one word, in which colons separate the numbers. In a program, a value that is the name of
// another variable counts as missing.
func words(text string, program bool) (all []shell.Arg) {
	const spaces, ends = " \t\r", "\n(),;[]{}"
	var word strings.Builder
	quoted := false
	end := func(by byte) {
		if word.Len() == 0 {
			return
		}
		a := shell.Arg{Text: word.String()}
		if _, value, _ := strings.Cut(a.Text, "="); program && !quoted && by != '(' && variableName(value) {
			a.Missing = []string{value}
		}
		all, quoted = append(all, a), false
		word.Reset()
	}
	for text = strings.ReplaceAll(text, "\\\n", " "); text != ""; {
		c, rest := text[0], text[1:]
		after := strings.TrimLeft(rest, spaces)
		switch {
		case c == '"' || c == '\'':
			inside, behind, closed := strings.Cut(rest, string(c))
			if closed && !strings.Contains(inside, "\n") {
				quoted = true
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
			end(c)
		default:
			word.WriteByte(c)
		}
		text = rest
	}
	end(0)
	return all
}
