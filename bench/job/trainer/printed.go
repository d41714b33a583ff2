package trainer

import (
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/job/shell"
)

// fromLog finds the settings that a job printed: the arguments of Megatron
// (megatron/training/arguments.py, _print_args) and Primus (primus/core/utils/module_utils.py,
// log_dict_aligned), the JSON of DeepSpeed (runtime/config.py, print_user_config), and
// TrainingArguments of Hugging Face. If they were printed several times, the last time counts.
func fromLog(text string) []Setting {
	if json, has := behindLast(text, "json = {"); has {
		if at := strings.Index(json, "\n}"); at >= 0 {
			if list, err := fromYAML("{"+json[:at+2], shell.Given{}); err == nil {
				return list
			}
		}
	}
	for _, first := range []string{"_n_gpu=", "output_dir="} { // the first form is used since transformers 4.10, the second form is older
		i := strings.LastIndex(text, first)
		before := strings.TrimRight(text[:max(0, i)], " \n")
		if old := first == "output_dir="; i < 0 || !strings.HasSuffix(before, "(") || old && !strings.HasSuffix(before, " parameters TrainingArguments(") {
			continue
		}
		if inside, closed := closedBy(text[i:]); closed {
			return settingsOf(words(strings.ReplaceAll(inside, "\n", " "), false))
		}
	}
	for _, form := range []struct{ begin, between string }{{"- arguments -", " ."}, {" args (after patches)", " :"}} {
		lines, has := behindLast(text, form.begin)
		if !has {
			continue
		}
		var list []Setting
		for line := range strings.Lines(lines) {
			if name, value, is := printedPair(line, form.between); is {
				list = append(list, Setting{Key: normal(name), Value: value})
			} else if len(list) > 0 && strings.Contains(line, "----") {
				break // the line below the last argument
			}
		}
		return list
	}
	return nil
}

// behindLast returns the part of text after the last occurrence of the string at.
func behindLast(text, at string) (after string, found bool) {
	i := strings.LastIndex(text, at)
	if i < 0 {
		return "", false
	}
	return text[i+len(at):], true
}

// printedType matches the type that Primus prints after a value: "None (NoneType)".
var printedType = pattern.New(` \(\w+\)$`)

// printedPair reads a line with a name, filler characters and a value. It skips a logger's prefix.
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
		value = strings.TrimSpace(strings.TrimLeft(line[at:], "."))
		return before[len(before)-1], printedType.ReplaceAllString(value, ""), true
	}
}

// closedBy returns the text up to the closing bracket of a pair whose opening bracket is just
// before the text.
func closedBy(text string) (inside string, closed bool) {
	open := 1
	for i := range min(len(text), 1<<20) {
		switch text[i] {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return text[:i], true
			}
		}
	}
	return "", false
}
