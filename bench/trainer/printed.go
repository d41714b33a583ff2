package trainer

import (
	"strings"

	"zbench/bench/shell"
)

// fromLog finds the settings that a job printed: the arguments of Megatron (megatron/training/arguments.py, _print_args) and
// Primus (primus/core/utils/module_utils.py, log_dict_aligned), the JSON of DeepSpeed (runtime/config.py, print_user_config),
// Hugging Face's TrainingArguments. Of several the last counts.
func fromLog(text string) []Setting {
	if json, has := behindLast(text, "json = {"); has {
		if at := strings.Index(json, "\n}"); at >= 0 {
			if list, err := fromYAML("{"+json[:at+2], shell.Given{}); err == nil {
				return list
			}
		}
	}
	if call, has := behindLast(text, "TrainingArguments(\n_n_gpu="); has {
		if inside, _, closed := strings.Cut(call, "\n)"); closed {
			return settingsOf(words(strings.ReplaceAll(inside, "\n", " ")))
		}
	}
	for _, form := range []struct{ begin, between string }{{"- arguments -", " ."}, {" args (after patches)", " :"}} {
		lines, has := behindLast(text, form.begin)
		if !has {
			continue
		}
		var list []Setting
		for line := range strings.Lines(lines) {
			if strings.Contains(line, "end of arguments") {
				break
			}
			if name, value, is := printedPair(line, form.between); is {
				list = append(list, Setting{Key: normal(name), Value: value})
			}
		}
		return list
	}
	return nil
}

// behindLast is the text behind the last place of another.
func behindLast(text, at string) (after string, found bool) {
	i := strings.LastIndex(text, at)
	if i < 0 {
		return "", false
	}
	return text[i+len(at):], true
}

// printedPair reads a line of name, fill and value; what logs put before it is left out.
func printedPair(line, between string) (name, value string, is bool) {
	for at := 0; ; {
		i := strings.Index(line[at:], between)
		if i < 0 {
			return "", "", false
		}
		before := strings.Fields(line[:at+i])
		at += i + len(between)
		if len(before) == 0 || !isKey(before[len(before)-1]) {
			continue
		}
		return before[len(before)-1], strings.TrimSpace(strings.TrimLeft(line[at:], ".")), true
	}
}
