package trainer

import (
	"path"
	"slices"
	"strings"
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
		if known(p.key) {
			list = append(list, Setting{Key: p.key, Value: unfoldered(p.value), Unset: p.unset})
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
