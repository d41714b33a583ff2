package spec

import "zbench/bench/job/trainer"

// Config is a trainer's settings file: its name without folders, and the settings
// that were found in it.
type Config struct {
	// Name of the file.
	File string `json:"file"`
	// Settings in the order of the file.
	Settings []trainer.Setting `json:"settings"`
	// Args are the arguments that a shell script was given; absent is none.
	Args string `json:"args,omitempty"`
	// Set are the variables that it was given, NAME=VALUE each; absent is none.
	Set []string `json:"set,omitempty"`
	// Form says what of the file was read, in words; absent is all of it.
	Form string `json:"form,omitempty"`
	// Notes say what could not be read, in sentences; absent is nothing.
	Notes []string `json:"notes,omitempty"`
	// Unread names settings that look as if they changed collectives and that no trainer here reads; absent is none.
	Unread []string `json:"unread,omitempty"`
}
