package trainer

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/job/shell"
)

// fromScript reads a shell script. It returns the settings of the command that has the most
// settings, or the variables if the script starts no command. It finds nothing in a text without
// arguments.
func fromScript(text string, given shell.Given) (Found, error) {
	read, err := shell.Read(text, given)
	if err != nil && (len(read.Commands) == 0 || !errors.Is(err, shell.ErrLimit)) {
		return Found{}, err
	}
	var found Found
	if err != nil {
		found.Notes = append(found.Notes, err.Error()+": what comes later is not read")
	}
	if c := read.Conditions; len(c) > 0 {
		found.Notes = append(found.Notes, "conditions test "+strings.Join(c, ", ")+", of which nothing is known: bash takes the branch of an empty value; --set NAME=VALUE and --args give values")
	}
	if e := read.Elsewhere; len(e) > 0 {
		found.Notes = append(found.Notes, "it runs or sources "+strings.Join(slices.Compact(e), ", ")+", which is not read")
	}
	var best, loose []Setting // loose are settings from lines that consist of arguments
	sharding := ""            // the front end of the best command, if it shards the optimizer by default
	launches := 0
	for _, c := range read.Commands {
		list := settingsOf(c.Args)
		list = append(settingsOf([]shell.Arg{{Text: "XLA_FLAGS=" + c.Env["XLA_FLAGS"] + " "}}), append(list, program(c.Args)...)...)
		if name, _, _ := strings.Cut(c.Args[0].Text, "="); strings.HasPrefix(name, "--") || strings.Contains(c.Args[0].Text, "=") && isKey(name) {
			loose = append(loose, list...)
			continue
		}
		if ofTrainers(list) > 0 {
			launches++
		}
		if ofTrainers(list) > ofTrainers(best) {
			best, found.Form, sharding = list, "its command "+path.Base(c.Args[0].Text), sharder(c.Args)
		}
	}
	if launches > 1 {
		found.Notes = append(found.Notes, fmt.Sprintf("it starts %d commands with settings: the one with the most is read", launches))
	}
	if best == nil {
		for _, v := range read.Vars {
			best = append(best, settingsOf(v.Words)...)
		}
		switch starts := slices.ContainsFunc(read.Commands, starter); {
		case ofTrainers(append(loose, best...)) > 0 && !starts && !read.Failed:
			found.Form = "its variables"
		case starts || read.Failed || len(read.Conditions) > 0:
			return Found{}, fmt.Errorf("%w: %s", errNoLaunch, strings.Join(append(found.Notes, "what the job printed has all of them"), "; "))
		default:
			return Found{}, nil // the text may be of another kind
		}
	}
	if sharding != "" {
		found.Notes = append(found.Notes, sharding+" turns Megatron's distributed optimizer on unless the command says otherwise")
		best = append([]Setting{{Key: "use_distributed_optimizer", Value: "true"}}, best...)
	}
	found.Settings = slices.Concat(loose, best)
	return found, nil
}

// errNoLaunch is the error about a script that starts no trainer.
var errNoLaunch = errors.New("the script starts no command with a trainer's settings")

// starter reports whether a command starts trainers.
func starter(c shell.Command) bool {
	name := path.Base(c.Args[0].Text)
	_, err := ByName(name) // the name may be a front end's command
	return err == nil || slices.Contains([]string{"torchrun", "python", "python3", "srun", "sbatch", "mpirun"}, name)
}

// ofTrainers counts the settings that belong to a trainer.
func ofTrainers(list []Setting) int {
	return slice.Count(list, func(p Setting) bool {
		return p.Key == programKey || sharedKey(p.Key) || slices.ContainsFunc(table, func(t Trainer) bool { return t.has(p) })
	})
}

// program returns the settings that follow from the name of the program that a command runs.
func program(args []shell.Arg) []Setting {
	for _, a := range args {
		for name := range unsimulated {
			if strings.HasPrefix(strings.ToLower(path.Base(a.Text)), name+".") || strings.Contains("/"+strings.ToLower(a.Text), "/"+name+"/") {
				return []Setting{{Key: programKey, Value: name}}
			}
		}
	}
	return nil
}

// programKey is the key of a setting whose value is the name of a program that is not simulated.
const programKey = "program"
