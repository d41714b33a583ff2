package doctor

import "zbench/bench/judge"

// known are issues of versions and settings that others have published.
func (m Machine) known() []Item {
	f := judge.IssueFacts{
		ROCm: m.Read("opt/rocm/.info/version"), Env: m.Host.Getenv, Pollara: m.Exists("sys/module/ionic"), GPUs: m.GPUs,
	}
	var all []Item
	for _, x := range judge.IssuesOf(f) {
		all = append(all, Item{Mark: Warn, Name: "known issue", Value: x.What + ": " + x.Cost + " (" + x.Source + ")", Remedy: x.Next})
	}
	return all
}
