package native

/*
#include "c/dl.h"
*/
import "C"

import "zbench/bench/hardware/backend"

// Role is the purpose of a library.
type Role = backend.Role

// The roles, in the order of opening: the collectives library loads its runtime.
const (
	RoleCollectives = backend.Collectives
	RoleRuntime     = backend.Runtime
	RoleDriver      = backend.Driver
	RoleCompiler    = backend.Compiler
)

// kinds are the libraries of the list of symbols.
var kinds = map[Role]C.int{
	RoleCollectives: C.ZB_COLLECTIVES, RoleRuntime: C.ZB_RUNTIME, RoleDriver: C.ZB_DRIVER, RoleCompiler: C.ZB_COMPILER,
}

// Setting is a file or folder that a user can set by a flag or by a variable.
type Setting = backend.Setting

// KernelNeeds are the libraries that kernels on a device need.
var KernelNeeds = []Role{RoleRuntime, RoleDriver, RoleCompiler}

// SettingWithin is the flag of Choice.Within.
const SettingWithin = "lib-timeout"

// SettingFolders is the flag that adds folders of libraries.
const SettingFolders = "lib-path"

var settings = append(backend.Settings(), Setting{
	Flag: SettingFolders, Variables: []string{"ZBENCH_LIB_PATH"}, Meaning: "more folders to look for libraries in, first of all; colons between them",
})

// Settings lists the settings, for flags and for help.
func Settings() []Setting { return settings }

// setting looks up a flag, then its variables. by is the one that was set.
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
