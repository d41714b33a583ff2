package report

import "zbench/bench/pairwise"

// mostListed is how many nodes a list has that is not folded.
const mostListed = 12

// nodeList is a file of nodes for the next job.
type nodeList struct {
	text  string
	names []string
}

// nodeLists are the lists that have nodes, one node a line as in the files; long ones are folded.
func nodeLists(lists []nodeList) []Block {
	var out []Block
	for _, one := range lists {
		switch list := (Code{one.text, pairwise.Lines(one.names)}); {
		case len(one.names) > mostListed:
			out = append(out, Details{one.text, []Block{list}})
		case len(one.names) > 0:
			out = append(out, Paragraph{"", said(one.text)}, list)
		}
	}
	return out
}
