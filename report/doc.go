// Package report renders documents. A document (package document) is what a command returns: findings,
// tables, charts as data. WriteHTML writes it as a page that needs nothing else, WriteSVG and WritePNG
// paint its charts, which are laid out once, as a scene. Nothing here judges, and nothing knows a
// benchmark.
package report
