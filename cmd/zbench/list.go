package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"zbench/bench/collective"
	"zbench/bench/fabric"
)

// listing is one thing that can be listed: a header and its rows.
type listing struct {
	name, header string
	rows         func() ([]string, error)
}

var listings = []listing{
	{"collectives", "NAME\tREDUCES\tBUSBW FACTOR (n = 8)\tWHAT IT DOES", func() ([]string, error) {
		var rows []string
		for _, c := range collective.All() {
			reduces := "no"
			if c.Reduces {
				reduces = "yes"
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%.4g\t%s", c.Name, reduces, c.BusFactor(8), c.Does))
		}
		return rows, nil
	}},
	{"fabrics", "NAME\tNODES\tGPUS A NODE\tWHAT IT IS", func() ([]string, error) {
		var rows []string
		for _, name := range fabric.Names() {
			f, err := fabric.ByName(name)
			if err != nil {
				return nil, err
			}
			nodes := fmt.Sprintf("1 to %d", f.MaxNodes)
			if f.MaxNodes == 1 {
				nodes = "1"
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%s", f.Name, nodes, f.Node.GPUs, f.Title))
		}
		return rows, nil
	}},
	{"dtypes", "NAME\tBYTES\tALSO\tWHAT IT IS", func() ([]string, error) {
		var rows []string
		for _, d := range collective.Dtypes() {
			rows = append(rows, fmt.Sprintf("%s\t%d\t%s\t%s", d.Name, d.Size, strings.Join(d.Aliases, ", "), d.Does))
		}
		return rows, nil
	}},
	{"faults", "FORM\tWHAT IS WRONG", func() ([]string, error) {
		var rows []string
		for _, f := range fabric.Faults() {
			rows = append(rows, f.Form+"\t"+f.Does)
		}
		return rows, nil
	}},
	{"ops", "NAME\tWHAT IT COMPUTES", func() ([]string, error) {
		var rows []string
		for _, o := range collective.Ops() {
			rows = append(rows, o.Name+"\t"+o.Does)
		}
		return rows, nil
	}},
}

func newList(s State) *cobra.Command {
	names := make([]string, len(listings))
	for i, l := range listings {
		names[i] = l.name
	}
	valid := strings.Join(names, ", ")
	return &cobra.Command{
		Use: "list " + strings.Join(names, "|"), Short: "List what zbench knows: " + valid, ValidArgs: names,
		Example: "  zbench list collectives",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("zbench list collectives, for one", "list takes one of %s", valid)
			}
			for _, l := range listings {
				if l.name == args[0] {
					return l.print(s)
				}
			}
			return usagef("zbench list collectives, for one", "unknown list %q: valid are %s", args[0], valid)
		},
	}
}

func (l listing) print(s State) error {
	rows, err := l.rows()
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, l.header)
	for _, row := range rows {
		fmt.Fprintln(t, row)
	}
	return t.Flush()
}
