package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/hardware/collective"
	"zbench/bench/show/table"
	"zbench/bench/work/fabric"
)

// listing is something that zbench can list, with a header and rows.
type listing struct {
	name   string
	header []string
	rows   func() ([][]string, error)
}

var listings = []listing{
	{"collectives", []string{"NAME", "REDUCES", "BUSBW FACTOR (n = 8)", "WHAT IT DOES"}, func() ([][]string, error) {
		return slice.Map(collective.All(), func(c collective.Collective) []string {
			reduces := map[bool]string{true: "yes", false: "no"}[c.Reduces]
			return []string{c.Name, reduces, fmt.Sprintf("%.4g", c.BusFactor(8)), c.Does}
		}), nil
	}},
	{"fabrics", []string{"NAME", "NODES", "GPUS A NODE", "WHAT IT IS"}, func() ([][]string, error) {
		var rows [][]string
		for _, name := range fabric.Names() {
			f, err := fabric.ByName(name)
			if err != nil {
				return nil, err
			}
			nodes := fmt.Sprintf("1 to %d", f.MaxNodes)
			if f.MaxNodes == 1 {
				nodes = "1"
			}
			rows = append(rows, []string{f.Name, nodes, fmt.Sprint(f.Node.GPUs), f.Title})
		}
		return rows, nil
	}},
	{"dtypes", []string{"NAME", "BYTES", "ALSO", "WHAT IT IS"}, func() ([][]string, error) {
		return slice.Map(collective.Dtypes(), func(d collective.Dtype) []string {
			return []string{d.Name, fmt.Sprint(d.Size), strings.Join(d.Aliases, ", "), d.Does}
		}), nil
	}},
	{"faults", []string{"FORM", "WHAT IS WRONG"}, func() ([][]string, error) {
		return slice.Map(fabric.Faults(), func(f fabric.Fault) []string { return []string{f.Form, f.Does} }), nil
	}},
	{"profiles", []string{"NAME", "WHAT IT IS", "THRESHOLD", "SOURCE"}, profileRows},
	{"ops", []string{"NAME", "WHAT IT COMPUTES"}, func() ([][]string, error) {
		return slice.Map(collective.Ops(), func(o collective.Op) []string { return []string{o.Name, o.Does} }), nil
	}},
}

func newList(s State) *cobra.Command {
	names := slice.Map(listings, func(l listing) string { return l.name })
	valid := strings.Join(names, ", ")
	return &cobra.Command{
		Use: "list " + strings.Join(names, "|"), Short: "List " + valid, ValidArgs: names,
		Example: "  zbench list collectives",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("`zbench list collectives`, for one", "list takes one of %s", valid)
			}
			for _, l := range listings {
				if own, _ := spell.Match(names, args[0]); l.name == own {
					return l.print(s)
				}
			}
			return usage(&spell.Unknown{Kind: "list", Given: args[0], Valid: names}, "`zbench list collectives`, for one")
		},
	}
}

func (l listing) print(s State) error {
	rows, err := l.rows()
	if err != nil {
		return err
	}
	return table.Text(s.Stdout, table.Terminal, table.Of(l.header, rows...))
}
