package spec

import "zbench/bench/job/trainer"

// Config is a trainer's settings file: its name without folders, and the settings
// that were found in it.
type Config struct {
	// Name of the file.
	File string `json:"file"`
	// Settings in the order of the file.
	Settings []trainer.Setting `json:"settings"`
	// Args are the arguments given to a shell script; absent if none.
	Args string `json:"args,omitempty"`
	// Set are the variables given to a shell script, NAME=VALUE each; absent if none.
	Set []string `json:"set,omitempty"`
	// Form says which part of the file was read, in words; absent if all of it.
	Form string `json:"form,omitempty"`
	// Notes say what could not be read, in sentences; absent if everything could be read.
	Notes []string `json:"notes,omitempty"`
	// Unread names settings that look as if they affected collectives but that no trainer here reads; absent
	// if none.
	Unread []string `json:"unread,omitempty"`
}
