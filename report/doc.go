// Package report renders documents. A document (package document) is the result of a command:
// findings, tables and charts as data. WriteHTML writes it as a self-contained page. WriteSVG and
// WritePNG paint its charts; both paint the same layout, a scene. The package judges nothing and
// does not know any benchmark.
package report
