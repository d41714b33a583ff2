// Package report renders documents. A document (package document) is a command's result: findings,
// tables, charts as data. WriteHTML writes it as a self-contained page, WriteSVG and WritePNG paint
// its charts, which are laid out once, as a scene. The package judges nothing and knows no
// benchmark.
package report
