package trainer

import (
	"path"
	"slices"
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

// Settings finds what a bucket size depends on in a trainer's file: Megatron's
// arguments, alone or in a shell script, Primus YAML, Bridge overrides, DeepSpeed
// JSON, or the call or the flags that a snippet of this package has. All else that
// the file holds is left out.
func Settings(text string) ([]Setting, error) {
	found, err := pairs(text)
	if err != nil {
		return nil, err
	}
	list := []Setting{}
	for _, p := range found {
		switch {
		case primus(p):
			p.value = path.Base(p.value)
		case !known(p.key):
			continue
		}
		list = append(list, Setting{Key: p.key, Value: p.value, Unset: p.unset})
	}
	return list, nil
}

// known tells whether a key is one of any trainer's.
func known(name string) bool {
	for _, k := range optimizerKeys {
		if k.name == name {
			return true
		}
	}
	return slices.ContainsFunc(keys, func(k key) bool { return k.name == name })
}

// ReadConfig is ReadSettings of what Settings finds in a text.
func ReadConfig(text, want string) (*Config, error) {
	list, err := Settings(text)
	if err != nil {
		return nil, err
	}
	return ReadSettings(list, want)
}
