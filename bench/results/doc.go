// Package results makes documents of records: Collectives of a sweep or an import, Memory of hbm and
// norms, Muon. Summary, Results, MemoryResults and MuonResults are their tables for text. What is
// wrong with a record is package judge's.
package results
