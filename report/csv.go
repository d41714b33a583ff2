package report

import (
	"io"
	"strings"

	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// WriteCSV writes the document's rows for a spreadsheet, in base units. If the document has no
// rows, it writes the findings.
func WriteCSV(w io.Writer, d *document.Document) error {
	if d.CSV != nil {
		header, rows := d.CSV()
		return table.CSV(w, header, rows)
	}
	var rows [][]string
	for _, f := range d.Findings {
		kind, name, nodes, share := "", "", "", ""
		if f.Subject != nil {
			kind, name, nodes = string(f.Subject.Kind), f.Subject.Name, strings.Join(f.Subject.Nodes, " ")
		}
		if f.Share != 0 {
			share = table.Number(&f.Share)
		}
		rows = append(rows, []string{f.Code, f.Severity.String(), kind, name, nodes, share, f.Text, f.Hint})
	}
	return table.CSV(w, []string{"code", "severity", "subject_kind", "subject", "nodes", "share_lost", "text", "hint"}, rows)
}
