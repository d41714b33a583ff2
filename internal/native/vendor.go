package native

/*
#include "c/dl.h"
*/
import "C"

import "zbench/bench/hardware/backend"

// Role is the purpose of a library.
type Role = backend.Role

// The roles in the order of opening. The collectives library loads its runtime.
const (
	RoleCollectives = backend.Collectives
	RoleRuntime     = backend.Runtime
	RoleDriver      = backend.Driver
	RoleCompiler    = backend.Compiler
)

// The map `kinds` gives the library of the symbol list for each role.
var kinds = map[Role]C.int{
	RoleCollectives: C.ZB_COLLECTIVES, RoleRuntime: C.ZB_RUNTIME, RoleDriver: C.ZB_DRIVER, RoleCompiler: C.ZB_COMPILER,
}

// Setting is a file or folder that a user can set by a flag or by a variable.
type Setting = backend.Setting

// KernelNeeds are the roles of the libraries that are needed to run kernels on a device.
var KernelNeeds = []Role{RoleRuntime, RoleDriver, RoleCompiler}

// SettingWithin is the name of the flag for Choice.Within.
const SettingWithin = "lib-timeout"

// SettingFolders is the name of the flag that adds folders to search for libraries.
const SettingFolders = "lib-path"

var settings = append(backend.Settings(), Setting{
	Flag: SettingFolders, Variables: []string{"ZBENCH_LIB_PATH"}, Meaning: "more folders to look for libraries in, first of all; colons between them",
})

// Settings returns all settings, for flags and for help.
func Settings() []Setting { return settings }

// setting looks up a flag, then its variables. The result `by` is the flag or the variable that
// gave the value.
func (o Choice) setting(flag string) (value, by string) {
	if v := o.Named[flag]; v != "" {
		return v, "--" + flag
	}
	for _, s := range settings {
		if s.Flag != flag || o.Getenv == nil {
			continue
		}
		for _, name := range s.Variables {
			if v := o.Getenv(name); v != "" {
				return v, name
			}
		}
	}
	return "", ""
}
