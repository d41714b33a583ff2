// Package report turns a record into what people read: a page that needs nothing
// else, plots that stand alone, and the tables of a terminal and a merge request.
//
//  1. A builder for each benchmark (Collectives, Memory, Muon) makes a Document of
//     a record: sections of blocks, each a paragraph, a table, a chart and so on.
//     Results, MemoryResults and MuonResults are its tables for text.
//  2. WriteHTML writes any Document, by one template. Charts and bars are laid out
//     once, as a scene, which WriteSVG and WritePNG paint too. Package table writes
//     the tables as text.
package report
