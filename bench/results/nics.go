package results

import (
	"zbench/bench/document"
	"zbench/bench/record"
)

// nicBlocks are what the NICs counted over all cases.
func nicBlocks(rec *record.Record) []document.Block {
	var all [][]record.NICCounters
	for i := range rec.Results {
		all = append(all, rec.Results[i].NICs)
	}
	nics := record.AddNICs(all...)
	if len(nics) == 0 {
		return nil
	}
	apart, alike := record.NICTables(nics)
	return append(document.Apart("counters of NICs", apart, alike, record.NICsAlike), document.Paragraph{Role: "small", Text: document.Said(record.NICNote)})
}
