package doctor

import (
	"zbench/bench/answers/judge"
	"zbench/bench/base/slice"
)

// known() returns the published issues of the installed versions and settings.
func (m Machine) known() []Item {
	f := judge.IssueFacts{
		ROCm: m.Read("opt/rocm/.info/version"), RCCL: m.RCCL, Env: m.Host.Getenv, Pollara: m.Exists("sys/module/ionic"), GPUs: m.GPUs,
	}
	return slice.Map(judge.IssuesOf(f), func(x judge.KnownIssue) Item {
		return Item{Mark: Warn, Name: "known issue", Value: x.What + ": " + x.Cost + " (" + x.Source + ")", Remedy: x.Next}
	})
}
