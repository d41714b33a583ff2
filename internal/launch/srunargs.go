package launch

import (
	"fmt"
	"slices"
	"strings"
)

// The type `takes` is the way in which an option of srun takes its value.
type takes byte

// An option takes no value, a value in the same word or the next word, or an optional value that
// is joined to the option.
const (
	nothing takes = iota
	value
	joined
)

// srunOptions lists srun's options, grouped by the way in which they take values. A one-letter form
// stands before its long name. Source: srun(1) of Slurm 22.05. The last line of a group has pyxis's
// options (its README, "Usage").
var srunOptions = map[takes]string{
	nothing: "contiguous X:disable-status exact h:help H:hold l:label multi-prog Z:no-allocate O:overcommit overlap s:oversubscribe E:preserve-env pty " +
		"Q:quiet quit-on-interrupt reboot spread-job test-only u:unbuffered usage use-min-nodes v:verbose V:version " +
		"container-mount-home no-container-mount-home container-remap-root no-container-remap-root container-entrypoint no-container-entrypoint container-writable container-readonly",
	value: "accel-bind A:account acctg-freq bb bbf bcast-exclude b:begin D:chdir cluster-constraint M:clusters comment C:constraint container S:core-spec cores-per-socket " +
		"cpu-bind cpu-freq cpus-per-gpu c:cpus-per-task deadline delay-boot d:dependency m:distribution epilog e:error x:exclude export B:extra-node-info gid gpu-bind gpu-freq " +
		"G:gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group hint i:input J:job-name jobid L:licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu " +
		"mem-per-gpu mincpus mpi msg-timeout network F:nodefile w:nodelist N:nodes n:ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode o:output " +
		"p:partition power prefer priority profile prolog q:qos r:relative reservation signal slurmd-debug sockets-per-node switches task-epilog task-prolog thread-spec " +
		"T:threads threads-per-core t:time time-min tmp uid W:wait wckey " +
		"container-image container-mounts container-workdir container-name container-save container-env",
	joined: "bcast compress exclusive I:immediate K:kill-on-bad-exit nice k:no-kill propagate resv-ports send-libs x11",
}

// refusedOptions are options with which srun would not start the world that zbench measures,
// each with the reason.
var refusedOptions = []struct{ names, why string }{
	{
		"nodes ntasks ntasks-per-node distribution gpu-bind gpus-per-task ntasks-per-gpu mpi kill-on-bad-exit relative multi-prog",
		"zbench sets %s itself; --nodes, --gpus-per-node and -g decide how many processes run and where",
	},
	{"het-group preserve-env nodefile no-allocate", "with %s srun would start other processes than zbench asks for; omit it"},
	{"chdir", "%s would start the processes in another folder, where --out and other relative paths mean other files; change the folder before zbench"},
	{"input pty", "%s takes the processes' standard input, by which zbench asks them to stop; omit it"},
	{"test-only help usage version", "with %s srun starts nothing"},
}

// srunOption is an option as srun reads it.
type srunOption struct {
	// `name` is the long name; `given` is the user's spelling, without the value.
	name, given, value string
	// `guessed` is true if the option is unknown and was assumed to take no value.
	guessed bool
}

// findOption finds an option of srun that meets a condition.
func findOption(is func(letter, long string) bool) (long string, how takes, ok bool) {
	for how, list := range srunOptions {
		for word := range strings.FieldsSeq(list) {
			letter, long, short := strings.Cut(word, ":")
			if !short {
				letter, long = "", word
			}
			if is(letter, long) {
				return long, how, true
			}
		}
	}
	return "", nothing, false
}

// readSlurmArgs reads options as srun does. srun takes the first word that is neither an option nor
// a value as the program; such a word ends the list.
func readSlurmArgs(args []string) ([]srunOption, error) {
	var all []srunOption
	for len(args) > 0 {
		read := readShort
		if strings.HasPrefix(args[0], "--") {
			read = readLong
		}
		options, rest, err := read(args)
		if err != nil {
			return nil, fmt.Errorf("--slurm-args: %w", err)
		}
		all, args = append(all, options...), rest
	}
	return all, nil
}

// readLong reads one option of the form --name, --name=value or --name value.
func readLong(args []string) (one []srunOption, rest []string, err error) {
	word, rest := args[0], args[1:]
	name, given, has := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	long, how, known := findOption(func(_, long string) bool { return long == name })
	o := srunOption{name: name, given: "--" + name, value: given}
	switch {
	case name == "":
		return nil, nil, fmt.Errorf("%q ends srun's options; what follows would run in place of zbench", word)
	case !known && abbreviates(name) != "":
		return nil, nil, fmt.Errorf("srun may read --%s as --%s: write options in full", name, abbreviates(name))
	case !known && !has && len(rest) > 0 && !strings.HasPrefix(rest[0], "-"):
		return nil, nil, fmt.Errorf("--%s is not known to zbench, so it cannot tell whether %q is its value or would run in place of zbench: write --%s=%s", name, rest[0], name, rest[0])
	case !known:
		o.guessed = !has
		return []srunOption{o}, rest, nil
	case how == nothing && has:
		return nil, nil, fmt.Errorf("%s: srun's --%s takes no value", word, name)
	case how == value && !has && len(rest) == 0:
		return nil, nil, needsValue(o.given)
	case how == value && !has:
		o.value, rest = rest[0], rest[1:]
	}
	o.name = long
	return []srunOption{o}, rest, nil
}

// readShort reads one word of one-letter options, such as -v, -vQ, -n4 or -n 4.
func readShort(args []string) (all []srunOption, rest []string, err error) {
	word, rest := args[0], args[1:]
	if len(word) < 2 || word[0] != '-' {
		return nil, nil, fmt.Errorf("%q is no option of srun: srun would run it in place of zbench", word)
	}
	for i := 1; i < len(word); i++ {
		long, how, known := findOption(func(letter, _ string) bool { return letter == word[i:i+1] })
		o := srunOption{name: long, given: "-" + word[i:i+1]}
		switch {
		case !known:
			return nil, nil, fmt.Errorf("%s (in %q) is not an option of srun that zbench knows: write it by its long name", o.given, word)
		case how == nothing:
			all = append(all, o)
			continue
		case i+1 == len(word) && how == value:
			if len(rest) == 0 {
				return nil, nil, needsValue(o.given)
			}
			o.value, rest = rest[0], rest[1:]
		default:
			o.value = word[i+1:]
		}
		return append(all, o), rest, nil
	}
	return all, rest, nil
}

func needsValue(option string) error {
	return fmt.Errorf("srun's %s takes a value, and there is none: srun would take zbench for it", option)
}

// abbreviates returns the long option that the name abbreviates; srun accepts abbreviations.
func abbreviates(name string) string {
	long, _, _ := findOption(func(_, long string) bool { return strings.HasPrefix(long, name) })
	return long
}

// checkSlurmArgs refuses words that srun would not read as options, options that would start
// another world, and options that would withhold the token or show it.
func checkSlurmArgs(args []string) ([]srunOption, error) {
	for _, a := range args {
		if strings.Contains(a, TokenVariable) {
			return nil, fmt.Errorf("--slurm-args: %s stays out of command lines, which all users of a machine can see; srun passes it on", TokenVariable)
		}
	}
	all, err := readSlurmArgs(args)
	for _, o := range all {
		if err := o.check(); err != nil {
			return nil, fmt.Errorf("--slurm-args: %w", err)
		}
	}
	return all, err
}

func (o srunOption) check() error {
	for _, r := range refusedOptions {
		if slices.Contains(strings.Fields(r.names), o.name) {
			return fmt.Errorf(r.why, o.given)
		}
	}
	if o.name == "export" && o.value != "ALL" || o.name == "export-file" {
		return fmt.Errorf("with %s=%s the processes would get neither %s nor NCCL's settings; omit it", o.given, o.value, TokenVariable)
	}
	return nil
}
